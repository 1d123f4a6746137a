// Promise: a connection to PostgreSQL that says nothing any more is given up within seconds, and what was sent over it and never arrived never will.
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { isDatabaseUnavailable, isNotSent } from '#runtime';
import { lineTo, type TcpProxy } from '../../../test/system/tcp-proxy.js';
import { Prisma } from './generated/client.js';
import { PageReader } from './page-reader.js';
import { PrismaService } from './prisma.service.js';
import { createTestDatabase, type TestDatabase } from './testing/index.js';
import { WatchedPool } from './watched-pool.js';

/** Goal: everything is served again within five seconds; the rest is for a busy machine. */
const SOON_MS = 15_000;
const SETTINGS = { poolSize: 4, lockTimeoutMs: 400, statementTimeoutMs: 1_000 };

let database: TestDatabase;
let proxy: TcpProxy;
/** The database behind the proxy. */
let lineUrl = '';
let prisma: PrismaService;
let direct: PrismaService;

beforeAll(async () => {
  database = await createTestDatabase();
  const { line, url } = await lineTo(database.url);
  proxy = line;
  url.searchParams.delete('connect_timeout');
  lineUrl = url.href;
  prisma = new PrismaService({ url: lineUrl, applicationName: 'silent', ...SETTINGS });
  direct = new PrismaService({ url: database.url, applicationName: 'direct', ...SETTINGS });
});

afterAll(async () => {
  await prisma?.$disconnect();
  await direct?.$disconnect();
  await proxy?.close();
  await database?.drop();
});

async function within<T>(work: Promise<T>, ms = SOON_MS): Promise<T> {
  const limit = new AbortController();
  const late = delay(ms, 'late' as const, { signal: limit.signal });
  try {
    const first = await Promise.race([work.then((value) => ({ value })), late]);
    if (first === 'late') throw new Error(`not within ${ms} ms`);
    return first.value;
  } finally {
    limit.abort();
    await late.catch(() => undefined);
  }
}

/** As many statements at once as the pool has connections: all of them are open afterwards. */
async function fillPool(): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, () => prisma.queryHot(Prisma.sql`SELECT pg_sleep(0.05)`)));
}

test('a statement on a silent connection fails; the idle connections beside it are not tried one after the other', async () => {
  await fillPool();
  proxy.deafen();
  await within(expect(prisma.queryHot(Prisma.sql`SELECT 1`)).rejects.toThrow(/PostgreSQL/));
  for (let nth = 0; nth < 6; nth += 1) {
    expect(await within(prisma.queryHot<{ one: number }>(Prisma.sql`SELECT 1 AS one`))).toEqual([{ one: 1 }]);
  }
});

test('also through Prisma, in a transaction and outside of one', async () => {
  await fillPool();
  const transaction = prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1`;
    proxy.deafen();
    await tx.$queryRaw`SELECT 2`;
  });
  await within(expect(transaction).rejects.toThrow());
  await fillPool();
  proxy.deafen();
  await within(expect(prisma.merchant.count()).rejects.toThrow());
  expect(await within(prisma.merchant.count())).toBeGreaterThanOrEqual(0);
});

test('slow is not silent: a statement may take as long as the server lets it, and a large result as long as it comes', async () => {
  const patient = new PrismaService({
    url: lineUrl,
    applicationName: 'patient',
    ...SETTINGS,
    statementTimeoutMs: 5_000,
  });
  try {
    const slow = patient.queryHot<{ n: number }>(Prisma.sql`SELECT 1 AS n FROM pg_sleep(3)`);
    expect(await within(slow)).toHaveLength(1);
    const large = await within(patient.queryHot(Prisma.sql`SELECT repeat('x', 100000) FROM generate_series(1, 300)`));
    expect(large).toHaveLength(300);
  } finally {
    await patient.$disconnect();
  }
});

test('a session of pages that has fallen silent meanwhile is closed within seconds', async () => {
  const { line, url } = await lineTo(database.url);
  try {
    const settings = { databaseUrl: url.href, applicationName: 'silent-pages', pageSize: 1 };
    const options = { ...settings, idleTimeoutMs: 60_000, statementTimeoutMs: 30_000 };
    const reader = await PageReader.open<{ n: number }>(options, () => Prisma.sql`SELECT 1 AS n`);
    expect(await reader.next(() => undefined)).toBe(1);
    line.deafen();
    await within(reader.close());
  } finally {
    await line.close();
  }
});

test('a session that only listens falls with the silent ones beside it: it has no statement that would show it', async () => {
  const { line, url } = await lineTo(database.url);
  const settings = { url: url.href, applicationName: 'silent-listener', statementTimeoutMs: 1_000 };
  const pool = new WatchedPool({ ...settings, size: 2, maxWaiting: 10 });
  const session = await (pool.connect() as Promise<pg.PoolClient>);
  try {
    await session.query('LISTEN anything');
    const lost = new Promise((resolve) => session.once('error', resolve));
    // Longer than any transaction may rest.
    await delay(10_500);
    const ask = (): Promise<unknown> => pool.query('SELECT 1') as Promise<unknown>;
    await ask();
    line.deafen();
    await within(expect(ask()).rejects.toThrow(/PostgreSQL/));
    await within(lost);
  } finally {
    session.release(true);
    await pool.end();
    await line.close();
  }
});

test('what a frozen connection held back is never carried out once the statement has failed', async () => {
  await fillPool();
  proxy.freeze();
  const insert = prisma.queryHot(Prisma.sql`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_frozen', 'frozen', 'Frozen', '123456789')`);
  await within(expect(insert).rejects.toThrow());
  // The reset overtakes what it takes back: as soon as it is there, nothing is left.
  while (proxy.heldBack > 0) await delay(5);
  proxy.thaw();
  await within(fillPool());
  expect(await direct.$queryRaw`SELECT id FROM merchants WHERE id = 'mer_frozen'`).toEqual([]);
});

test('one more than may wait for a connection is refused at once, and nothing of it was sent; through Prisma, too', async () => {
  const settings = { poolSize: 1, maxWaiting: 1, lockTimeoutMs: 400, applicationName: 'narrow' };
  const narrow = new PrismaService({ url: database.url, ...settings });
  const first = narrow.queryHot(Prisma.sql`SELECT pg_sleep(0.5)`);
  const second = narrow.queryHot(Prisma.sql`SELECT 1`);
  const refused = await Promise.all(
    [
      narrow.queryHot(Prisma.sql`SELECT 1`),
      narrow.merchant.count(),
      narrow.$transaction((tx) => tx.merchant.count()),
    ].map((statement) =>
      statement.then(
        () => null,
        (error: unknown) => ({ unavailable: isDatabaseUnavailable(error), notSent: isNotSent(error) }),
      ),
    ),
  );
  expect(refused).toEqual(refused.map(() => ({ unavailable: true, notSent: true })));
  await Promise.all([first, second]);
  await narrow.$disconnect();
});

const judged = (statement: Promise<unknown>): Promise<{ unavailable: boolean; notSent: boolean } | null> =>
  statement.then(
    () => null,
    (error: unknown) => ({ unavailable: isDatabaseUnavailable(error), notSent: isNotSent(error) }),
  );

test('a connection that is cut under a statement is lost, one that is not free in time was never there; through Prisma, too', async () => {
  const { line, url } = await lineTo(database.url);
  const cut = new PrismaService({ url: url.href, applicationName: 'cut', ...SETTINGS, statementTimeoutMs: 60_000 });
  const asked = [
    cut.queryHot(Prisma.sql`SELECT pg_sleep(50)`),
    cut.$queryRaw`SELECT pg_sleep(50)::text`,
    cut.$transaction((tx) => tx.$queryRaw`SELECT pg_sleep(50)::text`, { maxWait: 30_000, timeout: 60_000 }),
  ].map(judged);
  const underWay = (): Promise<{ n: number }[]> =>
    prisma.$queryRaw`
      SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE application_name = 'cut' AND datname = current_database() AND wait_event = 'PgSleep'`;
  while ((await underWay())[0]?.n !== asked.length) await delay(50);
  await line.close();
  expect(await Promise.all(asked)).toEqual(asked.map(() => ({ unavailable: true, notSent: false })));
  await cut.$disconnect();

  const narrow = new PrismaService({
    url: database.url,
    ...SETTINGS,
    poolSize: 1,
    connectTimeoutMs: 100,
    applicationName: 'narrow',
  });
  // On a busy machine the only connection may take longer than that to be made.
  while ((await judged(narrow.queryHot(Prisma.sql`SELECT 1`))) !== null) await delay(50);
  const first = narrow.queryHot(Prisma.sql`SELECT pg_sleep(0.6)`);
  const late = await Promise.all([narrow.queryHot(Prisma.sql`SELECT 1`), narrow.merchant.count()].map(judged));
  expect(late).toEqual(late.map(() => ({ unavailable: true, notSent: true })));
  await first;
  await narrow.$disconnect();
});

test('the server ends what a client left behind: a transaction that does nothing, a session whose host is gone', async () => {
  const [settings] = await prisma.queryHot<Record<string, string>>(Prisma.sql`
    SELECT current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('statement_timeout') AS statement,
           current_setting('lock_timeout') AS lock, current_setting('tcp_user_timeout') AS unacknowledged,
           current_setting('tcp_keepalives_idle') AS keepalive`);
  expect(settings).toEqual({ idle: '5s', statement: '1s', lock: '400ms', unacknowledged: '8000', keepalive: '5' });
});

test.each([
  ['a password that was changed', (url: URL) => (url.password = 'other')],
  ['a role that may not log in any more', (url: URL) => (url.username = 'fiscal_app_tenant')],
  ['a database that is being put back', (url: URL) => (url.pathname = '/dropped')],
  ['a server without TLS', (url: URL) => url.searchParams.set('sslmode', 'require')],
])('%s: no connection, for all who ask', async (_name, spoil) => {
  const url = new URL(database.url);
  spoil(url);
  const settings = { databaseUrl: url.href, applicationName: 'refused', pageSize: 1 };
  const refused = new PrismaService({ url: url.href, applicationName: 'refused', ...SETTINGS });
  const asked = [
    refused.queryHot(Prisma.sql`SELECT 1`),
    refused.$queryRaw`SELECT 1`,
    refused.merchant.count(),
    refused.$transaction((tx) => tx.merchant.count()),
    PageReader.open({ ...settings, idleTimeoutMs: 1_000, statementTimeoutMs: 1_000 }, () => Prisma.sql`SELECT 1`),
  ].map(judged);
  expect(await Promise.all(asked)).toEqual(asked.map(() => ({ unavailable: true, notSent: true })));
  await refused.$disconnect();
});
