import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';

const compress = promisify(gzip);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.woff2': 'font/woff2',
};

export interface BuiltFile {
  type: string;
  /** Its name holds a digest of its content, and so it never changes; the others are asked for anew each time, so that a new build is seen. */
  isForever: boolean;
  plain: Buffer;
  gzip: Buffer;
}

/**
 * What a build has left in a folder: the guide of `npm run docs`, the reference and the console of `npm run build`. Only names that were there at
 * the start are ever read, so that no address leads out of the folder; each is read and compressed when it is first asked for, and kept.
 */
export class BuiltFiles {
  private readonly names: ReadonlySet<string>;
  private readonly read = new Map<string, Promise<BuiltFile>>();

  constructor(private readonly folder: string) {
    this.names = namesBelow(folder);
  }

  get isBuilt(): boolean {
    return this.names.has('index.html');
  }

  /** @param path below the folder; pages with or without `.html`, a folder with `/` at its end. Null: there is none. */
  find(path: string): Promise<BuiltFile | null> {
    const wanted = path === '' || path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`];
    const name = wanted.find((one) => this.names.has(one));
    return name === undefined ? Promise.resolve(null) : this.once(name);
  }

  private once(name: string): Promise<BuiltFile> {
    const known = this.read.get(name);
    if (known) return known;
    const file = this.open(name);
    this.read.set(name, file);
    // A folder that is being built again: the next request reads it anew.
    file.catch(() => this.read.delete(name));
    return file;
  }

  private async open(name: string): Promise<BuiltFile> {
    const plain = await readFile(join(this.folder, name));
    const type = TYPES[extname(name)] ?? 'application/octet-stream';
    return { type, isForever: name.startsWith('assets/'), plain, gzip: await compress(plain, { level: 9 }) };
  }
}

function namesBelow(folder: string): Set<string> {
  if (!existsSync(folder)) return new Set();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Set(names.filter((name) => extname(name) in TYPES).map((name) => name.split(sep).join('/')));
}

/** The file as the answer, compressed where the browser takes that. */
export function shown(file: BuiltFile, accepted: string | undefined, reply: FastifyReply): Buffer {
  void reply
    .type(file.type)
    .header('vary', 'accept-encoding')
    .header('cache-control', file.isForever ? 'public, max-age=31536000, immutable' : 'no-cache');
  if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted ?? '')) return file.plain;
  void reply.header('content-encoding', 'gzip');
  return file.gzip;
}
