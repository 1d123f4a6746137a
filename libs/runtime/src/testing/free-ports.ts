import { createServer } from 'node:net';

/**
 * Test files that run side by side draw from ranges of their own, and all of them below the ports that the system gives to
 * whoever asks for any (32768 and up on Linux): what is reserved here stays free while its server is being started, or is
 * down for a while, whatever connections others open meanwhile.
 */
const RANGES = 8;
const PORTS_PER_RANGE = 1_500;
const FIRST_PORT = 20_000 + (Number(process.env['JEST_WORKER_ID'] ?? 0) % RANGES) * PORTS_PER_RANGE;
/** What was handed out may not be listened on yet: the next ones lie behind it. */
let next = Math.floor(Math.random() * PORTS_PER_RANGE);

/** `count` ports in a row that are free now. @returns the first */
export async function freePorts(count: number): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    if (next + count > PORTS_PER_RANGE) next = 0;
    const first = FIRST_PORT + next;
    next += count;
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`found no ${count} free ports in a row`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  const free = await listening;
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}
