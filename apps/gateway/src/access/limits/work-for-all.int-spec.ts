// Promise: what is done for all callers together waits for no caller's share, whichever of them has begun it.
import 'reflect-metadata';
import pg from 'pg';
import { KnownServer, LANE_WAKE_CHANNEL, NoticeSender, Prisma, PrismaService, withinShare } from '#database';
import { createLogger } from '#runtime';
import type { LaneBell } from '#queue';
import { MerchantUsage } from '../../fleet/usage/merchant-usage.js';
import { UsageRepository } from '../../fleet/usage/usage.repository.js';
import { PlatformHealthRepository } from '../../operator/health/platform-health.repository.js';
import { ReadPlatformHealth } from '../../operator/health/read-platform-health.js';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { until } from '../../../../../libs/runtime/src/testing/until.js';

const FLOODER = 'flooder';
const HELD_MS = 2_000;
const logger = createLogger('gateway', 'error', { write: () => undefined });
const heard: string[] = [];
let gateway: OperatorFixture;
let pool: PrismaService;
let listener: pg.Client;
let merchantId: string;

beforeAll(async () => {
  gateway = await OperatorFixture.start();
  merchantId = await gateway.createMerchant();
  const { url } = gateway.database;
  pool = new PrismaService({ url, poolSize: 4, applicationName: 'shared', lockTimeoutMs: 400, isShared: true });
  listener = new pg.Client({ connectionString: gateway.database.adminUrl });
  listener.on('notification', ({ payload = '' }) => heard.push(...payload.split(',')));
  await listener.connect();
  await listener.query(`LISTEN ${LANE_WAKE_CHANNEL}`);
});
afterAll(async () => {
  await listener?.end();
  await pool?.$disconnect();
  await gateway?.stop();
});

function wakes(): (name: string) => Promise<unknown> {
  const sender = new NoticeSender(pool, { channel: LANE_WAKE_CHANNEL, perNotice: 10, onLost: () => undefined });
  return async (name) => {
    sender.send(name);
    await until(
      name,
      () => Promise.resolve(heard),
      (all) => all.includes(name),
    );
  };
}

function usage(): () => Promise<unknown> {
  const counts = new MerchantUsage(new UsageRepository(pool), pool, logger);
  return () => {
    counts.count(merchantId, 100);
    return counts.flush();
  };
}

function server(): () => Promise<unknown> {
  const known = new KnownServer(pool, { databaseUrl: gateway.database.url, applicationName: 'known' }, logger);
  return () => known.tried(() => Promise.resolve(null));
}

function health(): () => Promise<unknown> {
  const bell = { state: 'up' } as unknown as LaneBell;
  const screen = new ReadPlatformHealth(pool, new PlatformHealthRepository(pool), bell);
  return () => screen.execute();
}

test.each<[string, () => (name: string) => Promise<unknown>]>([
  ['notices that wake lanes', wakes],
  ['receipts that are counted against quotas', usage],
  ['whether the server is known', server],
  ['the health of the platform', health],
])('%s', async (_what, make) => {
  const ask = make();
  const within = <T>(work: () => Promise<T>): Promise<T> => withinShare(FLOODER, work);
  const hang = (): Promise<unknown> => pool.queryHot(Prisma.sql`SELECT pg_sleep(${HELD_MS / 1_000}::float8)`);
  const held = [within(hang), within(hang)];
  const first = within(() => ask('of-flooder'));
  const beganMs = performance.now();
  await ask('of-another');
  expect(performance.now() - beganMs).toBeLessThan(HELD_MS / 2);
  await Promise.all([first, ...held]);
});
