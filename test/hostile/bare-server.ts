import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** What no program on Node.js can do for less: the head is read, and with the first piece of a body the connection is cut. */
const SCRIPT = `
  import { createServer } from 'node:http';
  const server = createServer((request) => {
    request.push = () => {
      request.destroy();
      return false;
    };
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  process.stdin.resume().on('end', () => process.exit());
`;

/** A server of Node.js alone, as a process of its own; it also ends with the process that started it. */
export interface BareServer {
  pid: number;
  url: string;
  stop(): Promise<void>;
}

export async function startBareServer(): Promise<BareServer> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const port = await Promise.race([
    once(lines, 'line').then(([line]) => Number(line)),
    ended.then(() => Promise.reject(new Error('The bare server did not start.'))),
  ]);
  return {
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
