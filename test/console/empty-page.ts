import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const BUILDER = join(process.cwd(), 'scripts', 'lib', 'build-console.mjs');
const TYPES: Record<string, string> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8' };

export interface EmptyPage {
  url: string;
  stop(): Promise<void>;
}

/** An empty React page, bundled as the console is, and served compressed from memory as the gateway serves the console. */
export async function serveEmptyPage(): Promise<EmptyPage> {
  const folder = mkdtempSync(join(tmpdir(), 'empty-page-'));
  const script = `(await import(${JSON.stringify(BUILDER)})).buildEmptyPage(${JSON.stringify(folder)})`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', `await ${script}`]);
  const files = new Map<string, Buffer>();
  const server = createServer(({ url = '' }, response) => {
    const name = url === '/console/' ? 'index.html' : url.replace(/^\/console\//, '');
    if (!existsSync(join(folder, name))) {
      response.writeHead(404).end();
      return;
    }
    const body = files.get(name) ?? gzipSync(readFileSync(join(folder, name)), { level: 9 });
    files.set(name, body);
    response
      .writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'text/css', 'content-encoding': 'gzip' })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/console/`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}
