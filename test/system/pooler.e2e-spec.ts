// Promise: behind a pooler in transaction mode, also one that dies under load, no sale is lost or doubled, and no merchant sees another's rows.
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { createTestDatabase, type TestDatabase } from '../../libs/database/src/testing/index.js';
import { Load } from '../faults/frame/load.js';
import { judge } from '../faults/frame/truth.js';
import { sql } from './database.js';
import { GatewayClient } from './gateway-client.js';
import { OwnPooler, poolerIsInstalled } from './pooler.js';
import { startSystem, type TestSystem } from './system.js';

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

  it('leaves nothing of a merchant in a session, and waits for locks no longer than the configuration says', async () => {
    const left = await pooler.leftBehind();
    expect(left).toEqual(left.map(() => ({ role: 'fiscal_app', merchant: '', lockTimeout: '400ms' })));
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
    // Notices and locks of lanes have sessions of their own.
    expect(count(/listen|lane/)).toBeGreaterThan(0);
  });
});
