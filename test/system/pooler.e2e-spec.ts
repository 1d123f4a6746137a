// Promise: behind a pooler in transaction mode, also one that dies under load, no sale is lost or doubled, and no merchant sees another's rows.
import type { Socket } from 'node:net';
import { Prisma, PrismaService, transactionsAt, withinMerchant } from '#database';
import { newId } from '#runtime';
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { createTestDatabase, type TestDatabase } from '../../libs/database/src/testing/index.js';
import { Load } from '../faults/frame/load.js';
import { judge } from '../faults/frame/truth.js';
import { sql } from './database.js';
import { GatewayClient } from './gateway-client.js';
import { OwnPooler, poolerIsInstalled } from './pooler.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

/** Fewer than the connections of two gateways and a relay, so that each session serves many. */
const POOL_SIZE = 3;
const KILLS = 3;
const mayRun = poolerIsInstalled() || process.env['CI'] === 'true';
let database: TestDatabase;
let pooler: OwnPooler;
let system: TestSystem | undefined;

(mayRun ? describe : describe.skip)('PgBouncer in transaction mode', () => {
  beforeAll(async () => {
    database = await createTestDatabase();
    pooler = await OwnPooler.start(database, POOL_SIZE);
    system = await startSystem({
      ...{ registers: 2, gateways: 2, database },
      env: { DATABASE_URL: pooler.urlOf('gateway'), DIRECT_DATABASE_URL: database.url },
      relayEnv: { DATABASE_URL: pooler.urlOf('relay') },
    });
  });

  afterAll(async () => {
    await system?.stop();
    await pooler?.remove();
  });

  it('loses and doubles nothing when the pooler dies under load', async () => {
    if (!system) throw new Error('not started');
    const load = new Load(system.client, { prefix: 'pooler', chance: new Chance(11), perTill: 3, asyncShare: 0.5 });
    for (let kill = 0; kill < KILLS; kill += 1) {
      await load.reaches(load.sold.length + 20);
      await pooler.kill();
      await pooler.start();
    }
    await load.reaches(load.sold.length + 20);
    await load.end();
    const verdict = await judge(system, [load], { prefix: 'pooler', tills: system.merchant.tills });
    expect(verdict).toMatchObject({ lost: 0, doubled: 0, wrongOrder: 0, failures: [] });
  });

  it('shows each merchant its own receipts through sessions that all of them share', async () => {
    if (!system) throw new Error('not started');
    const other = await system.addMerchant({ registerUrls: [] });
    const [mine, theirs] = [system.client, new GatewayClient(system.gatewayUrls, other)];
    const known = await sql<{ id: string }>(database, 'SELECT id FROM receipts');
    expect(known.length).toBeGreaterThan(50);
    const lists = await Promise.all(
      Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? mine : theirs).get('/v1/receipts?limit=100')),
    );
    const found = lists.map((answer) => (answer.body as { data: { id: string }[] }).data.length);
    expect(found).toEqual(found.map((_, index) => (index % 2 === 0 ? Math.min(100, known.length) : 0)));
    const byId = await Promise.all(known.slice(0, 40).map(({ id }) => theirs.get(`/v1/receipts/${id}`)));
    expect(new Set(byId.map((answer) => answer.status))).toEqual(new Set([404]));
  });

  it('keeps a statement to its merchant whatever its text says, in sessions that serve both in turn', async () => {
    if (!system) throw new Error('not started');
    const other = await system.addMerchant({ registerUrls: [] });
    const own = { poolSize: 6, applicationName: 'test-scope', lockTimeoutMs: 5_000 };
    const addresses = { DATABASE_URL: pooler.urlOf('gateway'), DIRECT_DATABASE_URL: database.url };
    const prisma = new PrismaService({ ...own, ...transactionsAt(addresses) });
    try {
      const merchants = [system.merchant.merchantId, other.merchantId];
      const seen = await Promise.all(
        Array.from({ length: 40 }, (_, index) => {
          const merchantId = merchants[index % 2] ?? '';
          // The statement names no merchant.
          const read = () =>
            prisma.queryHot<{ id: string }>(Prisma.sql`SELECT DISTINCT merchant_id AS id FROM cashiers`);
          return withinMerchant(merchantId, read).then((rows) => ({ merchantId, ids: rows.map(({ id }) => id) }));
        }),
      );
      const expected = (merchantId: string): string[] => (merchantId === other.merchantId ? [] : [merchantId]);
      expect(seen).toEqual(seen.map(({ merchantId }) => ({ merchantId, ids: expected(merchantId) })));
    } finally {
      await prisma.$disconnect();
    }
  });

  it('leaves nothing of a merchant in any session', async () => {
    const left = await pooler.leftBehind(POOL_SIZE);
    expect(new Set(left.map(({ pid }) => pid)).size).toBe(POOL_SIZE);
    expect(left.map(({ role }) => role)).toEqual(left.map(() => 'fiscal_app'));
    expect(left.filter(({ merchant }) => merchant !== null && merchant !== '')).toEqual([]);
    // Some have served one: it was set, and is no more.
    expect(left.map(({ merchant }) => merchant)).toContain('');
  });

  it('answers 503 while all sessions are taken, and sells when they are back', async () => {
    if (!system) throw new Error('not started');
    const { client } = system;
    const giveBack = await pooler.takeAll(POOL_SIZE);
    const key = newId('evt');
    const sell = () => client.post('/v1/receipts', client.saleOf(0), { 'idempotency-key': key, prefer: 'wait=20' });
    try {
      expect(await sell()).toMatchObject({ status: 503, body: { retryable: true } });
    } finally {
      await giveBack();
    }
    const sold = await until('the sale is taken', sell, ({ status }) => status === 201);
    expect(sold.body.status).toBe('registered');
  });

  it('ends a statement whose program has gone', async () => {
    const client = pooler.client();
    await client.connect();
    const ended = client.query('SELECT pg_sleep(14)').catch(() => 'lost');
    const running = async (): Promise<number> =>
      (
        await sql<{ count: number }>(
          database,
          `SELECT count(*)::int FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(14)'`,
        )
      )[0]?.count ?? 0;
    await until('it runs', running, (count) => count === 1);
    const begun = performance.now();
    (client as unknown as { connection: { stream: Socket } }).connection.stream.resetAndDestroy();
    await ended;
    await until('it runs no more', running, (count) => count === 0);
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  it('has no more sessions for transactions than the pooler may open', async () => {
    const sessions = await sql<{ name: string; count: number }>(
      database,
      `SELECT application_name AS name, count(*)::int FROM pg_stat_activity
        WHERE datname = current_database() AND usename = 'fiscal_app' GROUP BY 1`,
    );
    const count = (names: RegExp): number =>
      sessions.filter(({ name }) => names.test(name)).reduce((sum, { count: some }) => sum + some, 0);
    expect(count(/^(gateway|gateway-api|device-relay|device-relay-watch|device-relay-links)$/)).toBeLessThanOrEqual(
      2 * POOL_SIZE,
    );
    expect(count(/^(gateway|gateway-api)$/)).toBeGreaterThan(0);
    // Notices and locks of lanes have sessions of their own.
    expect(count(/listen|lane/)).toBeGreaterThan(0);
  });
});
