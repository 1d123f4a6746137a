// Promise: a client of the stream gets each event once and in order, whatever becomes of the gateways, and takes no more than its share.
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pg from 'pg';
import { createFastifyNestApp, stopFastifyNestApp } from '#http';
import { createLogger, Metrics, newId } from '#runtime';
import { freePorts } from '../../../../../libs/runtime/src/testing/free-ports.js';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { GatewayModule } from '../../gateway.module.js';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { testGatewaySettings } from '../../testing/gateway-settings.js';
import { EventStreams } from './event-streams.js';
import { StreamReader } from './testing/stream-reader.js';

const RESTARTS = 20;
let fixture: OperatorFixture;
const readers: StreamReader[] = [];

beforeAll(async () => {
  fixture = await OperatorFixture.start({ EVENT_STREAMS_PER_CLIENT: 3, EVENT_STREAMS: 16 });
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await untilTrue(() => fixture.app.get(EventStreams).open === 0, 'all streams are closed');
});
afterAll(() => fixture.stop());

async function merchant(): Promise<{ id: string; token: string }> {
  const id = await fixture.createMerchant();
  return { id, token: await fixture.createToken(id, ['receipts:read']) };
}

async function open(
  token: string,
  query = '',
  headers: Record<string, string> = {},
  base = fixture.base,
): Promise<StreamReader> {
  const reader = await StreamReader.open(`${base}/v1/events/stream?${query}`, {
    authorization: `Bearer ${token}`,
    ...headers,
  });
  readers.push(reader);
  return reader;
}

async function write(merchantId: string, type = 'receipt.accepted', subjectId = newId('rcp')): Promise<string> {
  const id = newId('evt');
  await fixture.prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES (${id}, ${merchantId}, ${type}, ${subjectId}, '{}')`;
  return id;
}

const has = (reader: StreamReader, count: number): Promise<void> =>
  untilTrue(() => reader.eventIds.length >= count, `${count} events have come`);

test('from now on, each with its type and the cursor behind it; the same events as the list has', async () => {
  const { id, token } = await merchant();
  await write(id);
  await untilTrue(async () => (await listed(token)).length === 1, 'the first event may be read');
  const reader = await open(token);
  expect(reader.headers.get('content-type')).toContain('text/event-stream');
  expect(reader.headers.get('x-accel-buffering')).toBe('no');
  await untilTrue(() => reader.frames.length > 0, 'the first frame moves the cursor');
  expect(reader.frames[0]).toMatchObject({ event: null, data: null, id: expect.any(String) });
  const ids = [await write(id, 'receipt.registered'), await write(id, 'refund.accepted')];
  await has(reader, 2);
  expect(reader.eventIds).toEqual(ids);
  expect(reader.frames.flatMap(({ event }) => event ?? [])).toEqual(['receipt.registered', 'refund.accepted']);
  const entries = await listed(token);
  expect(JSON.parse(reader.frames.findLast(({ data }) => data !== null)?.data ?? '')).toEqual(entries.at(-1));
});

async function listed(token: string, query = 'limit=100'): Promise<{ id: string }[]> {
  const response = await fetch(`${fixture.base}/v1/events?${query}`, { headers: { authorization: `Bearer ${token}` } });
  return ((await response.json()) as { data: { id: string }[] }).data;
}

test('filters by type and subject; the cursor passes what is not wanted', async () => {
  const { id, token } = await merchant();
  const subject = newId('rcp');
  const reader = await open(token, `subject_id=${subject}&type=receipt.*`);
  await write(id, 'receipt.accepted');
  await write(id, 'refund.accepted', subject);
  const wanted = await write(id, 'receipt.registered', subject);
  const after = await write(id, 'device.online');
  await has(reader, 1);
  expect(reader.eventIds).toEqual([wanted]);
  expect(await listed(token, `subject_id=${subject}`)).toHaveLength(2);
  expect((await listed(token, `subject_id=${subject}&type=receipt.*`)).map((one) => one.id)).toEqual([wanted]);
  // From the cursor of the wanted event the unwanted one comes first.
  const next = await open(token, '', { 'last-event-id': reader.lastId ?? '' });
  await has(next, 1);
  expect(next.eventIds).toEqual([after]);
});

test('Last-Event-ID before cursor; one that names no event is 422; a foreign event is none', async () => {
  const [mine, other] = [await merchant(), await merchant()];
  const ids = [await write(mine.id), await write(mine.id), await write(mine.id)];
  const reader = await open(mine.token, `cursor=${Buffer.from('0|').toString('base64url')}`);
  await has(reader, 3);
  expect(reader.eventIds).toEqual(ids);
  const cursors = reader.frames.filter(({ data }) => data !== null).map((frame) => frame.id ?? '');
  const resumed = await open(mine.token, `cursor=${cursors[0]}`, { 'last-event-id': cursors[1] ?? '' });
  await has(resumed, 1);
  expect(resumed.eventIds).toEqual(ids.slice(2));
  for (const refused of [
    await open(mine.token, 'cursor=nonsense'),
    await open(other.token, '', { 'last-event-id': cursors[0] ?? '' }),
  ]) {
    expect(refused.status).toBe(422);
  }
});

test('429 beyond what one client and one merchant may have; a closed one makes room', async () => {
  const { id, token } = await merchant();
  const mine = [await open(token), await open(token), await open(token)];
  const refused = await open(token);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  const second = await open(await fixture.createToken(id, ['receipts:read']));
  expect(second.status).toBe(200);
  // A merchant has a quarter of the gateway's.
  expect((await open(await fixture.createToken(id, ['receipts:read']))).status).toBe(429);
  expect((await open((await merchant()).token)).status).toBe(200);
  mine[0]?.close();
  await untilTrue(async () => (await open(token)).status === 200, 'there is room again');
});

test('a token that is revoked ends its stream', async () => {
  const { token } = await merchant();
  const reader = await open(token);
  await fixture.prisma.$executeRaw`
    UPDATE oauth_tokens SET revoked_at = now() WHERE client_id = (
      SELECT client_id FROM oauth_tokens ORDER BY issued_at DESC LIMIT 1)`;
  await untilTrue(() => reader.isClosed, 'the stream is closed');
  expect((await open(token)).status).toBe(401);
});

test('HEAD answers with the headers and opens nothing', async () => {
  const { token } = await merchant();
  const response = await fetch(`${fixture.base}/v1/events/stream`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${token}` },
  });
  expect([response.status, fixture.app.get(EventStreams).open]).toEqual([200, 0]);
});

test(`through ${RESTARTS} ends of gateways, stopped and cut off, nothing is missing and nothing comes twice`, async () => {
  const { id, token } = await merchant();
  const port = await freePorts(1);
  const settings = testGatewaySettings({ url: fixture.database.url });
  const logger = createLogger('gateway', 'silent');
  const start = async (): Promise<NestFastifyApplication> => {
    const app = await createFastifyNestApp(GatewayModule.create(settings, logger, new Metrics('gateway')), { logger });
    await app.listen(port, '127.0.0.1');
    return app;
  };
  let app = await start();
  expect((app.getHttpServer().address() as AddressInfo).port).toBe(port);

  const written: string[] = [];
  let isWriting = true;
  const writers = Array.from({ length: 4 }, async () => {
    const client = new pg.Client({ connectionString: fixture.database.url });
    await client.connect();
    while (isWriting) {
      const ids = [newId('evt'), newId('evt')];
      await client.query('BEGIN');
      for (const each of ids) {
        await client.query(
          "INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, $2, 'receipt.accepted', $1, '{}')",
          [each, id],
        );
        await delay(Math.random() * 8);
      }
      await client.query('COMMIT');
      written.push(...ids);
    }
    await client.end();
  });

  const seen: string[] = [];
  let cursor = Buffer.from('0|').toString('base64url');
  let isReading = true;
  let connections = 0;
  const reading = (async (): Promise<void> => {
    while (isReading) {
      const reader = await StreamReader.open(
        `http://127.0.0.1:${port}/v1/events/stream`,
        { authorization: `Bearer ${token}`, 'last-event-id': cursor },
        (frame) => {
          if (frame.data !== null) seen.push((JSON.parse(frame.data) as { id: string }).id);
          cursor = frame.id ?? cursor;
        },
      ).catch(() => null);
      connections += reader?.status === 200 ? 1 : 0;
      if (reader) readers.push(reader);
      await reader?.closed;
      await delay(20);
    }
  })();
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const before = seen.length;
    await untilTrue(() => seen.length > before, 'the stream goes on');
    if (restart % 2 === 0) {
      app.get(EventStreams).endAll();
      await stopFastifyNestApp(app);
    } else {
      // As a killed process leaves it: the connection is reset in the middle of whatever it sends.
      (app.getHttpServer() as { closeAllConnections: () => void }).closeAllConnections();
      await app.close();
    }
    app = await start();
  }
  isWriting = false;
  await Promise.all(writers);
  await untilTrue(() => seen.length >= written.length, 'all have come');
  isReading = false;
  app.get(EventStreams).endAll();
  await stopFastifyNestApp(app);
  await reading;
  expect(connections).toBeGreaterThan(RESTARTS);
  expect(new Set(seen).size).toBe(seen.length);
  expect([...seen].sort()).toEqual([...written].sort());
});
