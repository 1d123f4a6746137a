// Promise: a system whose registers, relay or queue are broken makes the alerts true that say so, and a healthy one none of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { firstIdAt } from '#runtime';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { sql } from './database.js';
import { setFaults } from './ground-truth.js';
import { inParallel } from './in-parallel.js';
import { LiveAlerts, SEEN_IN } from './live-alerts.js';
import { startMoreRegisters, startRegisters, type MoreRegisters } from './more-registers.js';
import { Program } from './program.js';
import { startRedis, type TestRedis } from './redis.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const SEEN = SEEN_IN['alerts-registers.e2e-spec.ts'];
const TILLS = 6;
const PLACES = 4;
const MANY = 505;
/** They are one register's, one after another: minutes on a machine that works at twenty other things. */
const DRAINED_MS = 300_000;
/** Least room of a register that is not nearly full, and one more. */
const CAPACITY = 101;
const KEEP_DAYS = 395;

let redis: TestRedis;
let system: TestSystem;
let ofd: Program;
let archive: string;
let alerts: LiveAlerts | null;
/** A shop whose troubles the others do not share. */
let shop: MoreRegisters;

beforeAll(async () => {
  archive = join(mkdtempSync(join(tmpdir(), 'fiscal-archive-')), 'archive');
  redis = await startRedis();
  system = await startSystem({
    ...{ registers: TILLS, queueUrl: redis.url, ownMetricsPorts: true },
    env: { HEALTH_POLL_MS: '300', ARCHIVE_DIR: archive, ATTEMPTS_KEEP_DAYS: String(KEEP_DAYS) },
    relayEnv: { RELAY_LANE_PLACES: String(PLACES), RELAY_LANES_ASIDE: '0' },
    profile: { failoverAfterMs: 0 },
    registerEnv: { OFD_SALE_BUDGET_MS: '300' },
  });
  const ofdPort = await freePorts(2);
  const ofdMetrics = `http://127.0.0.1:${ofdPort + 1}`;
  ofd = new Program(
    'another OFD',
    'ofd-simulator/src/main.js',
    { OFD_PORT: String(ofdPort), METRICS_PORT: String(ofdPort + 1) },
    `${ofdMetrics}/metrics`,
  );
  await ofd.start();
  // Its attempts are given up at once; it is the only one of its merchant.
  shop = await startMoreRegisters(system, {
    env: { FM_RECEIPT_CAPACITY: String(CAPACITY), OFD_SALE_BUDGET_MS: '300' },
    profile: { failoverAfterMs: 0, parkAfterMs: 1_500 },
  });
  alerts = await LiveAlerts.start({
    ...{ 'fiscal-gateway': system.gatewayMetricsUrls, 'fiscal-device-relay': system.relayMetricsUrls },
    'fiscal-ofd': [ofdMetrics],
  });
});

afterAll(async () => {
  await alerts?.stop();
  await shop?.program.end('SIGKILL');
  await ofd?.end();
  await system?.stop();
  await redis?.stop();
  if (archive) rmSync(join(archive, '..'), { recursive: true, force: true });
});

async function sellLater(till: number): Promise<void> {
  const { client } = system;
  const { status } = await client.post('/v1/receipts', client.saleOf(till), { prefer: 'respond-async' });
  expect(status).toBe(202);
}

test('a system on which all is well makes none of them true', async () => {
  await alerts?.allQuiet(SEEN);
});

test('the registers hang while much is sold: lanes wait, then all of it is registered late', async () => {
  if (!alerts) return;
  const whileTheyHang = ['NoPlacesLeft', 'LaneTooLong', 'ReceiptsWaitTooLong', 'DeviceUnreachable', 'FleetUnreachable'];
  await alerts.become(whileTheyHang, async () => {
    system.register.signal('SIGSTOP');
    shop.program.signal('SIGSTOP');
    for (let till = 1; till < TILLS; till += 1) await sellLater(till);
    await inParallel([...Array(MANY).keys()], 20, () => sellLater(0));
  });
  await alerts.become(['RegisterBudgetFast', 'RegisterBudgetSteady', 'RegisterBudgetSlow'], () => {
    system.register.signal('SIGCONT');
    shop.program.signal('SIGCONT');
    return Promise.resolve();
  });
  await until(
    'all of it is registered',
    () =>
      sql<{ left: number }>(system.database, `SELECT count(*)::int AS left FROM receipts WHERE status <> 'registered'`),
    ([row]) => row?.left === 0,
    DRAINED_MS,
  );
});

test('the clock of a register is an hour ahead', async () => {
  if (!alerts) return;
  const { client, merchant } = shop;
  const register = { registerUrls: [merchant.tills[0]?.registerUrl ?? ''], registerApiKey: system.registerApiKey };
  const sell = async (): Promise<void> => {
    expect((await client.post('/v1/receipts', client.saleOf(0), { prefer: 'wait=30' })).status).toBe(201);
  };
  await alerts.become(['DeviceClockApart'], async () => {
    await setFaults(register, [{ fault: 'clock_jump', delay_ms: 3_600_000 }]);
    await sell();
  });
});

test('the OFD is away, and a shop with documents that it has not got goes dark in the middle of a sale', async () => {
  if (!alerts) return;
  const { client, merchant } = shop;
  const [till] = merchant.tills;
  const register = { registerUrls: [till?.registerUrl ?? ''], registerApiKey: system.registerApiKey };
  await alerts.become(['DeviceMemoryNearlyFull'], async () => {
    await system.ofd.end('SIGKILL');
    for (let sale = 0; sale < 3; sale += 1)
      expect((await client.post('/v1/receipts', client.saleOf(0), { prefer: 'wait=30' })).status).toBe(201);
  });
  await alerts.become(['ReceiptsUnknown'], async () => {
    await setFaults(register, [{ fault: 'late_answer', next: 1, delay_ms: 60_000 }]);
    const { body } = await client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' });
    await until(
      'it is at the register',
      () => client.get(`/v1/receipts/${body.id}`),
      (receipt) => receipt.body.status === 'sending',
    );
    await shop.program.end('SIGKILL');
  });
  const ageing = ['DeviceFuseShort', 'ShiftOpenTooLong', 'OfdDeadlineWarning', 'OfdDeadlineAlarm', 'UnknownTooLong'];
  await alerts.become(ageing, () => agesBy47Hours(till?.deviceId ?? ''));
});

/** As if the shop had been dark for two days; what the register said last stands as long as it is. */
async function agesBy47Hours(deviceId: string): Promise<void> {
  const ago = `to_jsonb((now() - interval '47 hours')::text)`;
  await sql(
    system.database,
    `UPDATE devices SET reading = jsonb_set(jsonb_set(jsonb_set(reading, '{oldestUnsentAt}', ${ago}), '{shift,openedAt}', ${ago}),
                                            '{shift,busySince}', ${ago}) WHERE id = $1`,
    [deviceId],
  );
  await sql(
    system.database,
    `UPDATE receipts SET ofd_deadline_at = now() + interval '1 hour' WHERE device_id = $1 AND ofd_status = 'pending'`,
    [deviceId],
  );
  await sql(
    system.database,
    `UPDATE attempts SET closed_at = now() - interval '47 hours' WHERE device_id = $1 AND state = 'unknown'`,
    [deviceId],
  );
}

test('the subscription of a register has ended', async () => {
  if (!alerts) return;
  const [till] = shop.merchant.tills;
  await alerts.become(['DeviceStopped', 'SubscriptionEnding'], async () => {
    const again = await startRegisters(system, {
      port: Number(new URL(till?.registerUrl ?? '').port),
      env: { DATA_DIR: shop.folder, SUBSCRIPTION_EXPIRES_AT: '2026-01-01T00:00:00Z' },
    });
    shop = { ...shop, program: again.program };
  });
});

test('a register is switched off while a receipt waits for it', async () => {
  if (!alerts) return;
  const { client, merchant } = shop;
  await alerts.become(['ReceiptsForgotten'], async () => {
    const { body } = await client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' });
    await sql(system.database, `UPDATE devices SET state = 'disabled' WHERE id = $1`, [merchant.tills[0]?.deviceId]);
    await sql(system.database, `UPDATE receipts SET created_at = now() - interval '2 days' WHERE id = $1`, [body.id]);
  });
});

test('an attempt of last year cannot leave the database, as there is a file where the archive should be', async () => {
  await alerts?.become(['ArchiveBehind'], async () => {
    rmSync(archive, { recursive: true, force: true });
    writeFileSync(archive, '');
    const longAgo = new Date(Date.now() - (KEEP_DAYS + 30) * 86_400_000);
    await sql(
      system.database,
      `WITH of AS (SELECT receipt_id AS id FROM attempts WHERE state = 'registered' ORDER BY id LIMIT 1),
            aged AS (UPDATE receipts r SET updated_at = $2, ofd_status = 'sent' FROM of WHERE r.id = of.id RETURNING r.id)
       UPDATE attempts a SET id = $1, created_at = $2, closed_at = $2 FROM aged WHERE a.receipt_id = aged.id`,
      [`${firstIdAt('att', longAgo)}0000000000000000`, longAgo],
    );
  });
});

test('no relay has come to the end of keeping the partitions for three days', async () => {
  const forget = (): Promise<unknown> =>
    sql(system.database, `UPDATE partition_rounds SET ended_at = now() - interval '3 days'`);
  await alerts?.become(['PartitionsBehind'], forget, forget);
});

test('the queue is away', async () => {
  await alerts?.become(['QueueDown'], () => redis.stop());
});

test('a relay gets no processor for seconds at a time', async () => {
  const [relay] = system.relays;
  const holdUp = async (): Promise<void> => {
    relay?.signal('SIGSTOP');
    await delay(700);
    relay?.signal('SIGCONT');
    await delay(100);
  };
  await alerts?.become(['EventLoopBlocked'], holdUp, holdUp);
});

test('a program starts again and again', async () => {
  if (!alerts) return;
  const scraped = alerts;
  const again = async (): Promise<void> => {
    await ofd.end('SIGKILL');
    await ofd.start();
    const startedS = Date.now() / 1_000;
    await until(
      'this start has been scraped',
      () => scraped.query(`timestamp(process_start_time_seconds{job="fiscal-ofd"}) > ${startedS}`),
      ({ length }) => length > 0,
    );
  };
  await alerts.become(['ProgramRestarts'], again, again);
});

test('no relay runs', async () => {
  await alerts?.become(['NoRelay', 'ProgramDown'], () => system.relays[0]?.end('SIGKILL') ?? Promise.resolve());
});

test('no gateway runs', async () => {
  await alerts?.become(['NoGateway'], () => system.gateways[0]?.end('SIGKILL') ?? Promise.resolve());
});

test('each alert of this file’s list was seen', () => {
  if (alerts) expect([...alerts.seen].sort()).toEqual([...SEEN].sort());
});
