// Promise: a kept connection is given up a second before the server says that it will close it, and after 4 s when it says nothing.
import { openExchange } from './exchange.js';
import { KeepAlivePool } from './keep-alive.js';
import { answer, MisbehavingServer } from './testing/misbehaving-server.js';

const LIMITS = { timeoutMs: 5_000, maxAnswerBytes: 1_000 };

test.each([
  ['timeout=30', 28_900, 1],
  ['timeout=30', 29_100, 2],
  ['timeout=30, max=100', 29_100, 2],
  ['timeout=2', 900, 1],
  ['timeout=2', 1_100, 2],
  ['timeout=600', 59_000, 1],
  ['timeout=600', 61_000, 2],
  ['max=5', 3_900, 1],
  ['max=5', 4_100, 2],
  [undefined, 3_900, 1],
  [undefined, 4_100, 2],
])('Keep-Alive: %s, used again after %i ms: %i connections', async (hint, idleMs, connections) => {
  const server = new MisbehavingServer((socket) => {
    socket.write(answer(200, '{}', { ...(hint !== undefined && { 'Keep-Alive': hint }) }));
  });
  const { port } = new URL(await server.listen());
  let nowMs = 1_000_000;
  const pool = new KeepAlivePool(false, undefined, () => nowMs);
  const call = async (): Promise<void> => {
    const options = { host: '127.0.0.1', port: Number(port), path: '/' };
    const opening = await openExchange({ secure: false, pool, connectTimeoutMs: 5_000, options });
    if (opening.kind !== 'open') throw new Error(opening.reason);
    expect(await opening.exchange.send(null, LIMITS, () => true)).toMatchObject({ kind: 'answered' });
  };
  try {
    await call();
    // The connection becomes idle in a turn after the answer.
    await new Promise((resolve) => setImmediate(resolve));
    nowMs += idleMs;
    await call();
    expect(server.connections).toBe(connections);
  } finally {
    pool.close();
    await server.close();
  }
});
