// Promise: a client that takes nothing of its answer keeps neither a connection nor what stands behind the answer; one that is slow gets all of it.
import 'reflect-metadata';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Module, Res } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { createLogger } from '#runtime';
import { standStill } from '../../runtime/src/testing/stand-still.js';
import { untilTrue } from '../../runtime/src/testing/until.js';
import { createFastifyNestApp } from './fastify-app.js';

const MIB = 1024 ** 2;
/** More than the sockets between the two ends hold while nothing is read. */
const LARGE = 16 * MIB;
const UNREAD_MS = 3_000;

/** What was answered, newest last. */
const streams: Readable[] = [];

@Controller('v1')
class AnswerController {
  /** Its source has ended before its client has taken it. */
  @Get('stream')
  stream(@Res({ passthrough: true }) reply: FastifyReply): Readable {
    void reply.type('application/octet-stream');
    const stream = Readable.from([Buffer.alloc(LARGE)]);
    streams.push(stream);
    return stream;
  }

  @Get('whole')
  whole(): { text: string } {
    return { text: ' '.repeat(LARGE) };
  }

  /** Its first byte comes later than an answer may lie unread. */
  @Get('late')
  async late(): Promise<{ text: string }> {
    await delay(UNREAD_MS * 1.5);
    return { text: 'late' };
  }

  /** Nothing comes for longer than a client may leave what is there. */
  @Get('halting')
  halting(@Res({ passthrough: true }) reply: FastifyReply): Readable {
    void reply.type('application/octet-stream');
    async function* pieces(): AsyncGenerator<Buffer> {
      yield Buffer.from('begun');
      await delay(UNREAD_MS * 1.5);
      yield Buffer.from(', ended');
    }
    return Readable.from(pieces());
  }
}

@Module({ controllers: [AnswerController] })
class AnswerModule {}

let app: NestFastifyApplication;
let port: number;
const sockets = new Set<Socket>();

beforeAll(async () => {
  app = await createFastifyNestApp(AnswerModule, {
    logger: createLogger('sample', 'silent'),
    unreadAnswerMs: UNREAD_MS,
  });
  app.getHttpServer().on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await app.listen(0, '127.0.0.1');
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterAll(() => app?.close());

/** A connection on which this was asked for; nothing of it is read yet. */
async function ask(path: string): Promise<Socket> {
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
  client.pause();
  await once(client, 'connect');
  client.write(`GET /v1/${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
  return client;
}

test.each(['stream', 'whole'])('%s: the connection of a client that takes nothing ends', async (path) => {
  const client = await ask(path);
  try {
    await untilTrue(() => sockets.size === 1, 'it is connected');
    await untilTrue(() => sockets.size === 0, 'it is cut off');
    expect(streams.splice(0).map(({ closed }) => closed)).toEqual(path === 'stream' ? [true] : []);
  } finally {
    client.destroy();
  }
});

test('a client that takes a little now and then gets all of it', async () => {
  const client = await ask('stream');
  let bytes = 0;
  const begun = performance.now();
  // For longer than it might have left it.
  while (performance.now() - begun < UNREAD_MS * 2) {
    bytes += (client.read() as Buffer | null)?.length ?? 0;
    await delay(UNREAD_MS / 20);
  }
  for await (const piece of client) bytes += (piece as Buffer).length;
  expect(bytes).toBeGreaterThan(LARGE);
});

test('an answer that halts is waited for by a client that takes what comes', async () => {
  const client = await ask('halting');
  let text = '';
  for await (const piece of client) text += String(piece);
  expect(text).toContain(', ended');
});

test('a stop of this process ends no answer that its client goes on taking', async () => {
  const client = await ask('stream');
  let bytes = 0;
  while (bytes === 0) {
    bytes += (client.read() as Buffer | null)?.length ?? 0;
    await delay(10);
  }
  // The first time Node.js sees that something was taken since the write.
  for (let stop = 0; stop < 2; stop += 1) {
    standStill(UNREAD_MS * 1.5);
    await delay(10);
  }
  for await (const piece of client) bytes += (piece as Buffer).length;
  expect(bytes).toBeGreaterThan(LARGE);
});

test('an answer behind another one on its connection may take its time', async () => {
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  const headers = 'HTTP/1.1\r\nHost: here\r\n';
  client.write(`GET /v1/nothing ${headers}\r\nGET /v1/late ${headers}Connection: close\r\n\r\n`);
  let text = '';
  for await (const piece of client) text += String(piece);
  expect(text).toContain('{"text":"late"}');
});
