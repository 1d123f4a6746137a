// Promise: what one merchant has to close or to send again does not keep another one waiting; polls are asked for in the order of their due times.
import { Prisma } from '#database';
import { HealthRepository } from '../health/health.repository.js';
import { RestoreChecksRepository } from '../restore/restore-checks.repository.js';
import { WatchRig } from '../testing/watch-rig.js';
import type { Watch } from '../watch.js';

/** More than there are places for closings or resends. */
const TILLS_OF_A = 120;
const MINUTE = 60_000;
const DEVICES_OF_A = Array.from({ length: TILLS_OF_A }, (_, till) => `dev_a${till}`);
let rig: WatchRig;
let relay: Watch;

beforeAll(async () => {
  rig = await WatchRig.start('2026-11-20T10:00:00+05:00');
  await rig.sql.query(`INSERT INTO merchants (id, code, name, tin) VALUES ('mer_b', 'b', 'B', '300000001');
                       INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_b', 'mer_b', 'b', 'B')`);
});

afterAll(() => rig?.stop());

/** All of A's are due before the one of B. */
beforeEach(async () => {
  await rig.clear();
  relay = rig.relay();
  for (let till = 0; till < TILLS_OF_A; till += 1) await rig.addDevice(`dev_a${till}`);
  await rig.addDevice('dev_b');
  await rig.sql.query(`UPDATE devices SET merchant_id = 'mer_b', branch_id = 'brn_b' WHERE id = 'dev_b'`);
  for (const due of ['poll_due_at', 'close_due_at', 'resend_due_at'])
    await rig.sql.query(
      `UPDATE devices SET ${due} = $1::timestamptz - CASE id WHEN 'dev_b' THEN interval '1 s'
                                                                       ELSE interval '1 min' END`,
      [rig.at(0)],
    );
});

const now = (): Prisma.Sql => Prisma.sql`${rig.at(0)}::timestamptz`;

/** Devices of each merchant that are leased: their due time is in the future. */
async function leased(due: string): Promise<Record<string, number>> {
  const { rows } = await rig.sql.query<{ merchant_id: string; n: number }>(
    `SELECT merchant_id, count(*)::int AS n FROM devices WHERE ${due} > $1 OR ${due} IS NULL GROUP BY 1 ORDER BY 1`,
    [rig.at(0)],
  );
  return Object.fromEntries(rows.map(({ merchant_id: id, n }) => [id, n]));
}

test('closing of shifts: the other merchant’s is among the first, and the last places are kept', async () => {
  await relay.keeper.poll();
  expect(await leased('close_due_at')).toEqual({ mer_1: 44, mer_b: 1 });
  await relay.keeper.settle();
});

test('resends: the other merchant’s is among the first, and the last places are kept', async () => {
  await relay.ofd.poll();
  expect(await leased('resend_due_at')).toEqual({ mer_1: 44, mer_b: 1 });
  await relay.ofd.settle();
});

test('health polls: a register waits for those that were due before it, each once, whatever becomes of their polls', async () => {
  const polls = new HealthRepository(rig.prisma, now);
  // Of the same merchant, due a moment later: they stand behind.
  await rig.sql.query(`UPDATE devices SET poll_due_at = $1 WHERE id IN ('dev_a0', 'dev_a1')`, [rig.at(0)]);
  const order: string[] = [];
  for (let claims = 0; claims < 3; claims += 1)
    order.push(...(await polls.claimDue(50, MINUTE)).map(({ device }) => device.id));
  expect(new Set(order).size).toBe(order.length);
  expect(order).toHaveLength(TILLS_OF_A + 1);
  const third = order.slice(100);
  expect(third).toEqual(expect.arrayContaining(['dev_b', 'dev_a0', 'dev_a1']));
  expect(await polls.claimDue(50, MINUTE)).toEqual([]);
});

test('health polls: registers that are due again stand behind one that was due before', async () => {
  const polls = new HealthRepository(rig.prisma, now);
  await polls.claimDue(100, MINUTE);
  // Their leases are over at once, as if all of them had been silent; the twenty that were not claimed are due before.
  await rig.sql.query('UPDATE devices SET poll_due_at = $1 WHERE poll_due_at > $1', [rig.at(0)]);
  const next = (await polls.claimDue(TILLS_OF_A - 100 + 1, MINUTE)).map(({ device }) => device.id);
  expect(next).toContain('dev_b');
});

test('comparison after a restore: the other merchant’s register is among the first, and the last places are kept', async () => {
  await rig.sql.query(`
    INSERT INTO restore_checks (device_id, method, restored_at, due_at)
    SELECT id, 'counters', now(), now() - CASE id WHEN 'dev_b' THEN interval '1 s' ELSE interval '1 min' END
      FROM devices`);
  const checks = new RestoreChecksRepository(rig.prisma);
  const first = await checks.claimDue(MINUTE, { free: 50, kept: 5, held: new Map() });
  expect(countByMerchant(first)).toEqual({ mer_1: 44, mer_b: 1 });
  // Everything in hand is of one merchant, and one place is left: it is not for that merchant.
  expect(await checks.claimDue(MINUTE, { free: 1, kept: 1, held: new Map([['mer_1', 49]]) })).toEqual([]);
  const more = await checks.claimDue(MINUTE, { free: 50, kept: 5, held: new Map([['mer_1', 1]]) });
  expect(countByMerchant(more)).toEqual({ mer_1: 45 });
  expect(await checks.claimDue(MINUTE, { free: 50, kept: 5, held: new Map() }, [...DEVICES_OF_A])).toEqual([]);
  await rig.sql.query('DELETE FROM restore_checks');
});

test('comparison after a restore: one register with much to compare does not fill the round', async () => {
  await rig.sql.query(`
    INSERT INTO restore_checks (device_id, receipt_id, attempt_id, method, restored_at, due_at)
    SELECT 'dev_a0', 'rcp_' || n, 'att_' || n, 'key', now(), now() - interval '1 min' FROM generate_series(1, 700) AS n
    UNION ALL SELECT 'dev_b', 'rcp_b', 'att_b', 'key', now(), now() - interval '1 min'`);
  const claimed = await new RestoreChecksRepository(rig.prisma).claimDue(MINUTE, {
    free: 50,
    kept: 5,
    held: new Map(),
  });
  expect(countByMerchant(claimed)).toEqual({ mer_1: 100, mer_b: 1 });
  await rig.sql.query('DELETE FROM restore_checks');
});

function countByMerchant(checks: readonly { merchantId: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { merchantId } of checks) counts[merchantId] = (counts[merchantId] ?? 0) + 1;
  return counts;
}
