// Promise: bytes behind a request never become its answer. Breaks if a caller could read "refused" for what was done.
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { answerClientError } from './client-error.js';
import { OwedAnswers } from './owed-answers.js';

let server: FastifyInstance;
let socket: Socket;
let received: string;
let entered: Promise<void>;
let release: () => void;

beforeEach(async () => {
  let enter = (): void => undefined;
  entered = new Promise((resolve) => (enter = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const owed = new OwedAnswers();
  server = Fastify({
    clientErrorHandler: (error, connection) => {
      if (!owed.endAfterThem(connection)) answerClientError(error, connection);
    },
  });
  owed.watch(server.server);
  server.post('/slow', async () => {
    enter();
    await released;
    return { done: true };
  });
  server.post('/quick', () => ({ done: true }));
  await server.listen({ port: 0, host: '127.0.0.1' });
  socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
});

afterEach(async () => {
  socket.destroy();
  await server.close();
});

const post = (path: string, length = 2): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${String(length)}\r\n\r\n{}`;

async function statuses(): Promise<string[]> {
  await once(socket, 'close');
  return [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? '');
}

test.each([
  ['a body longer than it says', '}}'],
  ['a line that is no request', 'rubbish\r\n\r\n'],
  ['the beginning of a request that breaks', 'POST /quick HTTP/1.1\r\nHost: a\r\nBad header\r\n\r\n'],
  ['rubbish that goes on', 'rubbish\r\n'.repeat(20_000)],
])('a request in hand is answered as if %s did not follow, and its answer is the last', async (_what, behind) => {
  socket.write(post('/slow') + behind);
  await entered;
  // Another turn for the bytes behind, which may come in several pieces.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(received).toBe('');
  release();
  expect(await statuses()).toEqual(['200']);
  expect(received).toContain('Connection: close');
  expect(received).toContain('{"done":true}');
});

test('two requests in hand are both answered, in order', async () => {
  socket.write(`${post('/slow')}${post('/quick')}rubbish\r\n\r\n`);
  await entered;
  release();
  expect(await statuses()).toEqual(['200', '200']);
});

test.each([
  ['what never became a request', 'rubbish\r\n\r\n'],
  ['a request whose own body breaks', `${post('/quick').replace('Content-Length: 2', 'Transfer-Encoding: chunked')}!`],
])('%s is answered with the error', async (_what, bytes) => {
  socket.write(bytes);
  expect(await statuses()).toEqual(['400']);
});
