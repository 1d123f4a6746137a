// Promise: a program that is asked to stop leaves when its answers are given, not when its callers' connections time out.
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { closePromptly } from './prompt-closing.js';

/** Longer than any test: a stop that waits for it does not end. */
const TEN_MINUTES_MS = 600_000;
const agent = new Agent({ keepAlive: true });
let server: FastifyInstance;
let port: number;
let entered: Promise<void>;
let release: () => void;
let closing: Promise<void>;

beforeEach(async () => {
  let enter = (): void => undefined;
  entered = new Promise((resolve) => (enter = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  server = Fastify({ keepAliveTimeout: TEN_MINUTES_MS, forceCloseConnections: 'idle', return503OnClosing: false });
  closePromptly(server);
  closing = new Promise((resolve) => {
    server.addHook('preClose', (done) => (resolve(), done()));
  });
  server.get('/slow', async () => {
    enter();
    await released;
    return { answered: true };
  });
  server.get('/quick', () => ({ answered: true }));
  await server.listen({ port: 0, host: '127.0.0.1' });
  ({ port } = server.server.address() as AddressInfo);
});

afterAll(() => agent.destroy());

async function ask(path: string): Promise<IncomingMessage> {
  const [response] = (await once(get({ host: '127.0.0.1', port, path, agent }), 'response')) as [IncomingMessage];
  await once(response.resume(), 'end');
  return response;
}

test('a connection whose answer was in hand is not kept, and its caller receives Connection: close', async () => {
  const answer = ask('/slow');
  await entered;
  const closed = server.close();
  await closing;
  release();
  expect((await answer).headers.connection).toBe('close');
  await closed;
});

test('a connection that was opened and never used does not hold it, and one that is used just now is answered', async () => {
  const silent = connect(port, '127.0.0.1');
  await once(silent, 'connect');
  const late = connect(port, '127.0.0.1');
  await once(late, 'connect');
  // Both were accepted: a call that came after them was answered.
  expect((await ask('/quick')).statusCode).toBe(200);
  const closed = server.close();
  late.write('GET /quick HTTP/1.1\r\nHost: register\r\n\r\n');
  const [bytes] = (await once(late, 'data')) as [Buffer];
  expect(bytes.toString()).toMatch(/^HTTP\/1\.1 200 [^]*connection: close/i);
  await Promise.all([once(silent, 'close'), closed]);
});

test('a caller that was answered before its body came, and does not send it, does not hold it', async () => {
  const refused = connect(port, '127.0.0.1');
  refused.write('GET /quick HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{');
  const [answer] = (await once(refused, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  const begunMs = performance.now();
  await server.close();
  // Node gives such a body up after half a minute at the earliest.
  expect(performance.now() - begunMs).toBeLessThan(20_000);
  refused.destroy();
});
