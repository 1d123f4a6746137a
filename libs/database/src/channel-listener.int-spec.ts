// Promise: the reader of notices knows until when all of them were delivered, and a dead connection does not pass for a silent one.
import { createServer, connect, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createLogger } from '#runtime';
import { ChannelListener } from './channel-listener.js';
import { createTestDatabase, type TestDatabase } from './testing/index.js';
import { behindDelay } from '../../../test/system/delaying-proxy.js';
import { untilTrue } from '../../runtime/src/testing/until.js';

const logger = createLogger('test', 'error', { write: () => undefined });
let database: TestDatabase;
let listener: ChannelListener | null = null;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await listener?.stop();
  listener = null;
});
afterAll(() => database.drop());

/** A way to the database that can be made to swallow everything, as a network does that forgot a connection. */
async function swallowingProxy(target: URL): Promise<{ server: Server; url: string; swallow(): void; cut(): void }> {
  const sockets = new Set<Socket>();
  let pairs: { near: Socket; far: Socket }[] = [];
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    pairs.push({ near, far });
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target.href);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  url.searchParams.delete('connect_timeout');
  return {
    server,
    url: url.href,
    swallow: () => {
      for (const { near, far } of pairs) {
        near.unpipe(far).resume();
        far.unpipe(near).resume();
      }
      pairs = [];
    },
    cut: () => sockets.forEach((socket) => socket.destroy()),
  };
}

test('what was committed before `deliveredUntilMs` has been delivered', async () => {
  const received: string[] = [];
  listener = new ChannelListener(
    {
      ...{ databaseUrl: database.url, applicationName: 'test', channel: 'test_notices', heartbeatMs: 20 },
      ...{ onNotice: (payload) => void received.push(payload), onListening: () => undefined },
    },
    logger,
  );
  expect(listener.deliveredUntilMs).toBe(-Infinity);
  listener.start();
  await untilTrue(() => (listener?.deliveredUntilMs ?? 0) > 0);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (let number = 0; number < 20; number += 1) {
    await client.query(`SELECT pg_notify('test_notices', '${String(number)}')`);
    const committedAt = performance.now();
    await untilTrue(() => (listener?.deliveredUntilMs ?? 0) > committedAt);
    expect(received).toContain(String(number));
  }
  await client.end();
});

test('the connection is asked often only while what was delivered is relied upon', async () => {
  const line = await behindDelay(database.url, 0);
  const relied = new ChannelListener(
    {
      ...{ databaseUrl: line.url, applicationName: 'test', channel: 'test_notices', heartbeatMs: 20 },
      ...{ onNotice: () => undefined, onListening: () => undefined },
    },
    logger,
  );
  listener = relied;
  try {
    relied.start();
    await untilTrue(() => relied.isListening);
    const listened = line.proxy.sent;
    await delay(2_000);
    // Right after it has begun, and each second.
    expect(line.proxy.sent - listened).toBeLessThanOrEqual(5);
    const restedUntil = line.proxy.sent;
    // At rest that would take twenty seconds.
    await untilTrue(() => relied.deliveredUntilMs > 0 && line.proxy.sent - restedUntil >= 20, 'asked often', 15_000);
  } finally {
    await relied.stop();
    await line.close();
  }
});

test('a connection that swallows everything is given up, and listening begins anew', async () => {
  const proxy = await swallowingProxy(new URL(database.url));
  let began = 0;
  listener = new ChannelListener(
    {
      ...{ databaseUrl: proxy.url, applicationName: 'test', channel: 'test_notices', heartbeatMs: 50 },
      ...{ onNotice: () => undefined, onListening: () => void (began += 1) },
    },
    logger,
  );
  listener.start();
  await untilTrue(() => (listener?.deliveredUntilMs ?? 0) > 0);
  proxy.swallow();
  const deafSince = performance.now();
  await untilTrue(() => began === 2);
  await untilTrue(() => (listener?.deliveredUntilMs ?? 0) > deafSince);
  await listener.stop();
  proxy.cut();
  await new Promise((resolve) => proxy.server.close(resolve));
});

describe('listeners of one program', () => {
  const started: ChannelListener[] = [];
  const received: string[] = [];
  let client: pg.Client;

  beforeAll(async () => {
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await Promise.all(started.map((each) => each.stop()));
    await client.end();
  });

  function listen(name: string, channel: string): ChannelListener {
    const each = new ChannelListener(
      {
        ...{ databaseUrl: database.url, applicationName: 'shared', channel },
        ...{ onNotice: (payload) => void received.push(`${name} ${payload}`) },
        onListening: () => void received.push(`${name} listens`),
      },
      logger,
    );
    each.start();
    started.push(each);
    return each;
  }

  async function sessions(): Promise<number> {
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'shared' AND datname = current_database()`,
    );
    return rows[0]?.n ?? 0;
  }

  async function expectNotices(payload: string, expected: readonly string[]): Promise<void> {
    received.length = 0;
    for (const channel of ['first_notices', 'second_notices'])
      await client.query(`SELECT pg_notify('${channel}', '${payload}')`);
    await untilTrue(() => received.length >= expected.length);
    expect([...received].sort()).toEqual(expected);
  }

  test('share one session, which ends with the last; each has its own channel', async () => {
    const [a, b] = [listen('a', 'first_notices'), listen('b', 'second_notices')];
    await untilTrue(() => a.isListening && b.isListening);
    expect(await sessions()).toBe(1);
    const late = listen('late', 'first_notices');
    await untilTrue(() => late.deliveredUntilMs > 0);
    expect(received).toContain('late listens');
    expect(await sessions()).toBe(1);
    await expectNotices('1', ['a 1', 'b 1', 'late 1']);
    await a.stop();
    expect(a.isListening).toBe(false);
    await expectNotices('2', ['b 2', 'late 2']);
  });

  test('all come back when it is lost', async () => {
    const present = started.slice(1);
    received.length = 0;
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'shared'`,
    );
    await untilTrue(() => received.length === 2 && present.every(({ isListening }) => isListening));
    expect([...received].sort()).toEqual(['b listens', 'late listens']);
    await expectNotices('3', ['b 3', 'late 3']);
    await Promise.all(present.map((each) => each.stop()));
    let left = 1;
    const deadline = Date.now() + 30_000;
    while (left > 0 && Date.now() < deadline) left = await sessions();
    expect(left).toBe(0);
  });
});

test('a reader that cannot catch up tries again by itself, and ends the session of no other', async () => {
  const at = { databaseUrl: database.url, applicationName: 'failing', heartbeatMs: 20 };
  const [received, began] = [[] as string[], { good: 0, bad: 0 }];
  const onListening = (): void => void (began.good += 1);
  const good = new ChannelListener(
    { ...at, channel: 'good_notices', onNotice: (payload) => void received.push(payload), onListening },
    logger,
  );
  let isAway = true;
  const bad = new ChannelListener(
    {
      ...{ ...at, channel: 'bad_notices', onNotice: () => undefined },
      onListening: () => {
        began.bad += 1;
        return isAway ? Promise.reject(new Error('the table cannot be read')) : undefined;
      },
    },
    logger,
  );
  bad.start();
  good.start();
  try {
    await untilTrue(() => began.bad >= 3 && good.deliveredUntilMs > 0);
    expect(bad.deliveredUntilMs).toBe(-Infinity);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`SELECT pg_notify('good_notices', 'x')`);
    await client.end();
    await untilTrue(() => received.length > 0);
    isAway = false;
    await untilTrue(() => bad.isListening && bad.deliveredUntilMs > 0);
    expect([began.good, received]).toEqual([1, ['x']]);
  } finally {
    await Promise.all([good.stop(), bad.stop()]);
  }
});
