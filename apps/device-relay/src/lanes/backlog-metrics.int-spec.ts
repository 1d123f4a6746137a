// Promise: the metrics show a lane that stands still and receipts that wait for a person, at any load.
import { createLogger, Metrics } from '#runtime';
import { observeBacklog } from './backlog-metrics.js';
import { planOf, recorded } from '#database/testing';
import { countUnknown, readBacklog } from '#ledger';
import { LaneRows } from './testing/lane-rows.js';

let rows: LaneRows;
let nowMs = 0;

beforeAll(async () => {
  rows = await LaneRows.start();
});

afterAll(() => rows?.stop());

beforeEach(async () => {
  await rows.clear();
  await rows.holdLane();
});

afterEach(() => rows.session.end());

test('nothing to do', async () => {
  const nothing = {
    ...{ unknown: 0, lanes: 0, waiting: 0, longest: 0 },
    ...{ oldestSeconds: 0, oldestAttemptSeconds: 0, oldestUnknownSeconds: 0 },
  };
  for (const status of ['cancelled', 'rejected']) await rows.createReceipt({ status });
  expect(await readBacklog(rows.prisma)).toEqual(nothing);
});

test('what waits, what is open and what is unknown', async () => {
  await rows.createDevice('dev_2');
  const parked = await rows.createOpenAttempt();
  await rows.ours.closeUnknown(parked, { why: 'x' }, { mustSettle: false });
  const proved = await rows.createOpenAttempt();
  await rows.ours.closeUnknown(proved, { why: 'x' }, { mustSettle: false });
  // Proven by a late answer: it needs no decision, though its attempt stays unknown.
  await rows.sql.query(`UPDATE receipts SET status = 'rejected' WHERE id = $1`, [proved.receiptId]);
  await rows.createOpenAttempt();
  for (const deviceId of ['dev_1', 'dev_1', 'dev_2']) await rows.createReceipt({ deviceId });
  await rows.sql.query(`UPDATE receipts SET created_at = now() - interval '1 hour' WHERE device_id = 'dev_2'`);
  await rows.sql.query(`UPDATE attempts SET created_at = now() - interval '2 hours' WHERE state = 'open'`);
  const backlog = await readBacklog(rows.prisma);
  expect(backlog).toMatchObject({ unknown: 1, lanes: 2, waiting: 3, longest: 2 });
  expect(Math.round(backlog.oldestSeconds / 60)).toBe(60);
  expect(Math.round(backlog.oldestAttemptSeconds / 60)).toBe(120);
});

test('what a sandbox forces to be unknown waits for no person who keeps the system running', async () => {
  await rows.sql.query(
    `INSERT INTO merchants (id, code, name, tin, mode) VALUES ('mer_test_1', 's', 'S', '1', 'sandbox')`,
  );
  await rows.sql.query(`INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_2', 'mer_test_1', 'b', 'B')`);
  await rows.sql.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, transport, api_key_sealed, profile)
     VALUES ('dev_test_1', 'mer_test_1', 'brn_2', 'Till', 'emulated', '', '{}')`,
  );
  const forced = `rcp_test_${'0'.repeat(26)}`;
  await rows.sql.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                           total_tiyin, vat_total_tiyin)
     VALUES ($1, 'mer_test_1', 'cli_test_1', 'receipts', '\\x00', 'sale', 'unknown', nextval('lane_place_seq'), 'dev_test_1', '{}', 1, 0)`,
    [forced],
  );
  await rows.sql.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
     VALUES ('att_9', $1, 'dev_test_1', 1, 'unknown', '{}', '\\x00', 'rly_ours', now() - interval '1 day', '{}')`,
    [forced],
  );
  const [sending] = [
    await rows.createReceipt({ deviceId: 'dev_test_1', status: 'sending' }),
    await rows.createReceipt({ deviceId: 'dev_test_1' }),
  ];
  await rows.sql.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at)
     VALUES ('att_8', $1, 'dev_test_1', 1, 'open', '{}', '\\x00', 'rly_ours', now() - interval '2 days')`,
    [sending],
  );
  const backlog = await readBacklog(rows.prisma);
  expect(backlog).toMatchObject({ unknown: 0, oldestUnknownSeconds: 0, lanes: 1, waiting: 1, oldestSeconds: 0 });
  expect(backlog.oldestAttemptSeconds).toBe(0);
  expect(await countUnknown(rows.prisma, 10)).toBe(0);
  // However many of them: they are passed over as one.
  await rows.sql.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document, total_tiyin, vat_total_tiyin)
     SELECT 'rcp_test_' || lpad(n::text, 26, '0'), 'mer_test_1', 'cli_test_1', 'receipts', '\\x00', 'sale', 'unknown', nextval('lane_place_seq'), 'dev_test_1',
            '{}', 1, 0 FROM generate_series(1, 3000) n`,
  );
  await rows.sql.query('VACUUM ANALYZE receipts');
  const { largest } = await planOf(
    rows.sql,
    recorded((prisma) => countUnknown(prisma, 10)),
  );
  expect(largest).toBeLessThan(20);
});

test('a receipt that waits for a register that was switched off is as old as it is', async () => {
  await rows.createReceipt();
  await rows.sql.query(`UPDATE receipts SET created_at = now() - interval '2 days'`);
  await rows.sql.query(`UPDATE devices SET state = 'disabled'`);
  expect(Math.round((await readBacklog(rows.prisma)).oldestSeconds / 3_600)).toBe(48);
});

test('so is one that was being sent when its register was switched off', async () => {
  await rows.createOpenAttempt();
  await rows.sql.query(`UPDATE attempts SET created_at = now() - interval '2 days'`);
  await rows.sql.query(`UPDATE devices SET state = 'disabled'`);
  const { oldestSeconds, oldestAttemptSeconds } = await readBacklog(rows.prisma);
  expect([oldestSeconds, Math.round(oldestAttemptSeconds / 3_600)]).toEqual([0, 48]);
});

test.each([
  [
    'receipts_waiting_in_lane',
    `SELECT device_id FROM receipts WHERE status = 'accepted' ORDER BY device_id, lane_place LIMIT 100000`,
  ],
  ['attempts_unsettled', `SELECT 1 FROM attempts a WHERE a.state IN ('open', 'unknown')`],
])('its conditions are those of the index %s, which holds nothing that is done', async (index, query) => {
  // The index fits, whatever a table of a few rows is read by.
  await rows.sql.query('SET enable_seqscan = off; SET enable_bitmapscan = off');
  const { rows: plan } = await rows.sql.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${query}`);
  await rows.sql.query('RESET enable_seqscan; RESET enable_bitmapscan');
  expect(plan.map((line) => line['QUERY PLAN']).join()).toContain(index);
});

test('one reading for all gauges of a scrape and those that follow at once; a failed one is NaN and no error', async () => {
  const metrics = new Metrics('test');
  let readings = 0;
  let fails = false;
  const read = (): ReturnType<typeof readBacklog> => {
    readings += 1;
    return fails ? Promise.reject(new Error('away')) : readBacklog(rows.prisma);
  };
  const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };
  observeBacklog(metrics, read, { clock, logger: createLogger('test', 'silent') });
  await rows.createReceipt();
  expect(await metrics.registry.metrics()).toMatch(/^lanes_waiting_receipts\{.*\} 1$/m);
  await metrics.registry.metrics();
  expect(readings).toBe(1);
  fails = true;
  nowMs += 5_000;
  expect(await metrics.registry.metrics()).toMatch(/^lanes_waiting_receipts\{.*\} Nan$/m);
  expect(readings).toBe(2);
});
