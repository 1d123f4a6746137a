// Promise: a refusal before the body reaches its caller whole, costs nothing for what is not read, and spoils no later call on the connection.
import 'reflect-metadata';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Controller, Module, Post } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createLogger } from '#runtime';
import { createFastifyNestApp } from './fastify-app.js';

const KIB = 1024;
const MIB = 1024 * KIB;

@Controller('v1')
class PingController {
  @Post('pings')
  ping(): { pong: true } {
    return { pong: true };
  }
}

@Module({ controllers: [PingController] })
class PingModule {}

let app: NestFastifyApplication;
let port: number;
/** Of the server, newest last. */
const sockets: Socket[] = [];

beforeAll(async () => {
  app = await createFastifyNestApp(PingModule, { logger: createLogger('sample', 'silent') });
  app.getHttpServer().on('connection', (socket: Socket) => sockets.push(socket));
  await app.listen(0, '127.0.0.1');
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterAll(() => app?.close());

interface Answer {
  status: number;
  connection: string | undefined;
  text: string;
}

function post(agent: Agent, path: string, bytes: number): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'content-length': bytes };
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, agent, headers });
    sent.once('error', reject);
    sent.once('response', (answer: IncomingMessage) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, connection: answer.headers.connection, text });
      });
    });
    sent.end(Buffer.alloc(bytes, ' '));
  });
}

test('a client that keeps its connections is informed that this one ends, and its next calls are answered', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    for (let round = 0; round < 5; round += 1) {
      const refused = await post(agent, '/no/such/path', MIB);
      expect(refused).toMatchObject({ status: 404, connection: 'close', text: expect.stringContaining('not_found') });
      expect(await post(agent, '/v1/pings', 0)).toMatchObject({ status: 201, connection: 'keep-alive' });
    }
  } finally {
    agent.destroy();
  }
});

test('a short unread body is taken, and its connection stays', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    expect(await post(agent, '/no/such/path', 10 * KIB)).toMatchObject({ status: 404, connection: 'keep-alive' });
    const count = sockets.length;
    expect(await post(agent, '/v1/pings', 0)).toMatchObject({ status: 201 });
    expect(sockets).toHaveLength(count);
  } finally {
    agent.destroy();
  }
});

test('a caller that goes on sending gets its answer and no more time; what it sends is not read', async () => {
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined); // the end: a reset
  client.write(`POST /no/such/path HTTP/1.1\r\nhost: x\r\ncontent-length: ${64 * MIB}\r\n\r\n`);
  const closed = new Promise((resolve) => client.once('close', resolve));
  const piece = Buffer.alloc(64 * KIB);
  const send = (): void => {
    while (!client.destroyed && client.write(piece));
  };
  client.on('drain', send);
  let text = '';
  client.on('data', (data: Buffer) => (text += data.toString('latin1')));
  send();
  await closed;
  expect(text).toMatch(/^HTTP\/1\.1 404 /);
  expect(text).toMatch(/\r\nconnection: close\r\n/i);
  expect(text).toContain('"not_found"');
  expect(sockets.at(-1)?.bytesRead).toBeLessThan(MIB);
});
