// Promise: a lane that waits is left alone for as long as it must, and found again when its wake-up is lost.
import { LANE_LOCK_SPACE } from '#ledger';
import type { LaneRepository } from './lane.repository.js';
import { OverdueScan } from './overdue-scan.js';
import { BASELINE, LaneRows } from './testing/lane-rows.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
});

afterAll(() => rows?.stop());

beforeEach(async () => {
  await rows.clear();
  await rows.holdLane();
});

afterEach(() => rows.session.end());

describe('settling and waiting', () => {
  test('the relay that settles comes back at the due time, others ten seconds after the settling', async () => {
    await rows.createReceipt();
    await rows.ours.beginSettle(rows.deviceId, 30_000, 'settling');
    expect(within(await waitMs(rows.ours), 29_000, 30_000)).toBe(true);
    expect(within(await waitMs(rows.others), 39_000, 40_000)).toBe(true);
    await rows.sql.query(`UPDATE lanes SET due_at = now() - interval '1 s', settle_until = now() - interval '1 s'`);
    expect(await waitMs(rows.ours)).toBe(0);
    expect(within(await waitMs(rows.others), 8_000, 9_000)).toBe(true);
    await rows.sql.query(`UPDATE lanes SET settle_until = now() - interval '11 s'`);
    expect(await waitMs(rows.others)).toBe(0);
  });

  test('the end of the settling clears all of it', async () => {
    await rows.sql.query(`UPDATE lanes SET must_settle = true, last_known = '{}'`);
    await rows.ours.beginSettle(rows.deviceId, 30_000, 'settling');
    await rows.ours.endSettle(rows.deviceId, BASELINE, rows.laneLock);
    const settled = { must_settle: false, settling_relay: null, settle_until: null, due_at: null, due_reason: null };
    expect(await rows.lane()).toMatchObject({ ...settled, last_known: null, baseline: BASELINE });
  });

  test('postponing ends the settling by name, not what must settle', async () => {
    await rows.sql.query('UPDATE lanes SET must_settle = true');
    await rows.ours.beginSettle(rows.deviceId, 30_000, 'settling');
    await rows.ours.postpone(rows.deviceId, { afterMs: 5_000, reason: 'away', failures: 2 });
    const lane = { settling_relay: null, settle_until: null, must_settle: true, failures: 2, due_reason: 'away' };
    expect(await rows.lane()).toMatchObject(lane);
    expect(within(await waitMs(rows.others), 4_000, 5_000)).toBe(true);
  });

  test('a refusal that is noted in the future, by a clock that has been set back since, is none: it is asked anew', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.ours.noteRefusal(attempt, { refused: 'F-001' });
    const refusedAgoMs = async () => (await rows.ours.read(rows.deviceId, 1))?.openAttempt?.refusedAgoMs;
    expect(within((await refusedAgoMs()) ?? -1, 0, 10_000)).toBe(true);
    await rows.passTime(-3_600_000);
    expect(await refusedAgoMs()).toBeNull();
  });

  test('a reading is kept with the calibration; a device becomes shared once', async () => {
    const calibration = { sequenceOffset: 1, tiyinPerUnit: 100 };
    await rows.ours.saveReading(rows.deviceId, BASELINE, calibration);
    expect(await rows.ours.read(rows.deviceId, 1)).toMatchObject({ baseline: BASELINE, calibration, lastKnown: null });
    await rows.ours.markShared(rows.deviceId, 'foreign sale');
    await rows.ours.markShared(rows.deviceId, 'foreign sale');
    expect(await rows.ours.read(rows.deviceId, 1)).toMatchObject({ device: { profile: { sharing: 'shared' } } });
    expect(await rows.events()).toEqual(['device.shared']);
  });

  test('a terminal that another device has is refused, not thrown', async () => {
    await rows.createDevice('dev_2');
    await rows.sql.query(`UPDATE devices SET terminal_id = 'UZ1' WHERE id = 'dev_2'`);
    expect(await rows.ours.saveIdentity(rows.deviceId, BASELINE, [])).toBe('terminal_taken');
    expect(await rows.lane()).toMatchObject({ baseline: null });
    expect(await rows.ours.saveIdentity(rows.deviceId, { ...BASELINE, terminalId: 'UZ2' }, ['journal'])).toBe('saved');
  });

  test('a degraded device that sells stays degraded; a change says since when', async () => {
    await rows.sql.query(`UPDATE devices SET state = 'degraded', state_since = now() - interval '1 hour'`);
    await rows.ours.setDeviceState(rows.deviceId, 'online', null);
    const read = (): Promise<unknown> =>
      rows.one(`SELECT state, now() - state_since < interval '1 minute' AS is_new FROM devices`);
    expect(await read()).toEqual({ state: 'degraded', is_new: false });
    await rows.ours.setDeviceState(rows.deviceId, 'unreachable', 'away');
    expect(await read()).toEqual({ state: 'unreachable', is_new: true });
  });

  test('each state is published once; only a person ends replaced and disabled', async () => {
    await rows.ours.setDeviceState(rows.deviceId, 'blocked', 'F-001');
    await rows.ours.setDeviceState(rows.deviceId, 'blocked', 'F-001');
    await rows.ours.setDeviceState(rows.deviceId, 'replaced', 'another terminal');
    await rows.ours.setDeviceState(rows.deviceId, 'online', null);
    expect(await rows.events()).toEqual(['device.blocked', 'device.replaced']);
    expect(await rows.ours.read(rows.deviceId, 1)).toMatchObject({ device: { state: 'replaced' } });
  });
});

describe('what the sweeper finds', () => {
  /** Long beside what a busy machine needs between writing a time and asking for it. */
  const GRACE_MS = 30_000;
  /** No relay works there, and everything is ten minutes old. */
  async function forgotten(): Promise<void> {
    await rows.session.query('SELECT pg_advisory_unlock_all()');
    const old = `now() - interval '10 min'`;
    await rows.sql.query(`UPDATE receipts SET updated_at = ${old}; UPDATE lanes SET updated_at = ${old}`);
    await rows.sql.query(`UPDATE attempts SET created_at = ${old}`);
  }
  const found = async (): Promise<string[]> =>
    (await rows.ours.overdueLanes({ overdueMs: GRACE_MS, after: '', lanes: 10 })).due;

  test('a lane with an accepted receipt, each lane once', async () => {
    await rows.createDevice('dev_2');
    for (const deviceId of ['dev_1', 'dev_1', 'dev_2']) await rows.createReceipt({ deviceId });
    await forgotten();
    expect((await found()).sort()).toEqual(['dev_1', 'dev_2']);
  });

  test('round and round in the order of devices, from another lane in each relay: none is hidden, not all ask for the same', async () => {
    const ids = ['dev_1', ...Array.from({ length: 29 }, (_, index) => `dev_9${String(index).padStart(2, '0')}`)];
    for (const deviceId of ids.slice(1)) await rows.createDevice(deviceId);
    for (const deviceId of ids) await rows.createReceipt({ deviceId });
    await forgotten();
    const [ours, others] = [scanFrom(0), scanFrom(0.5)];
    const [first, second] = [await ours.next(10), await others.next(10)];
    expect([first.length, second.length]).toEqual([10, 10]);
    expect(first.filter((id) => second.includes(id))).toEqual([]);
    const seen = new Set([...first, ...(await ours.next(10)), ...(await ours.next(10)), ...(await ours.next(10))]);
    expect([...seen].sort()).toEqual(ids);
  });

  const scanFrom = (share: number): OverdueScan => new OverdueScan(rows.ours, GRACE_MS, () => share);

  test('a lane with nothing but an open attempt', async () => {
    await rows.createOpenAttempt();
    await forgotten();
    expect(await found()).toEqual(['dev_1']);
  });

  test('nothing where nothing is to be done', async () => {
    for (const status of ['cancelled', 'rejected', 'unknown', 'awaiting_payment']) await rows.createReceipt({ status });
    await forgotten();
    expect(await found()).toEqual([]);
  });

  test.each<[string, string]>([
    ['the receipt is new', `UPDATE receipts SET updated_at = now()`],
    ['the lane was touched just now', `UPDATE lanes SET updated_at = now()`],
    ['it is due later', `UPDATE lanes SET due_at = now() + interval '1 min'`],
    ['it has been due for a moment only', `UPDATE lanes SET due_at = now() - interval '1 s'`],
    [
      'another relay settles',
      `UPDATE lanes SET settling_relay = 'rly_others', settle_until = now() + interval '1 min'`,
    ],
    [
      'another relay may only be late',
      `UPDATE lanes SET settling_relay = 'rly_others', settle_until = now() - interval '1 s'`,
    ],
    ['the device was replaced', `UPDATE devices SET state = 'replaced'`],
    ['the device is disabled', `UPDATE devices SET state = 'disabled'`],
  ])('not while %s', async (_name, change) => {
    await rows.createReceipt();
    await forgotten();
    expect(await found()).toEqual(['dev_1']);
    await rows.sql.query(change);
    expect(await found()).toEqual([]);
  });

  test.each<[string, string]>([
    ['we settle ourselves', `UPDATE lanes SET settling_relay = 'rly_ours', settle_until = now() + interval '1 min'`],
    [
      'another one let its settling lapse',
      `UPDATE lanes SET settling_relay = 'rly_others', settle_until = now() - interval '11 s'`,
    ],
    ['it has been due', `UPDATE lanes SET due_at = now() - interval '31 s'`],
    ['the device is blocked', `UPDATE devices SET state = 'blocked'`],
  ])('also while %s', async (_name, change) => {
    await rows.createReceipt();
    await forgotten();
    await rows.sql.query(change);
    expect(await found()).toEqual(['dev_1']);
  });

  test('of lanes that are followed, those that have work at this moment, however new', async () => {
    for (const id of ['dev_2', 'dev_3', 'dev_4', 'dev_5']) await rows.createDevice(id);
    const ids = ['dev_1', 'dev_2', 'dev_3', 'dev_4', 'dev_5'];
    const { attemptId } = await rows.createOpenAttempt();
    const first: Record<string, string> = { dev_1: attemptId };
    for (const deviceId of ids.slice(1)) first[deviceId] = await rows.createReceipt({ deviceId });
    for (const deviceId of ids) await rows.createReceipt({ deviceId });
    const due = async (asked = ids): Promise<string[]> => {
      const lanes = await rows.ours.dueAmong(asked);
      for (const lane of lanes) expect(lane.first).toBe(first[lane.deviceId]);
      return lanes.map(({ deviceId }) => deviceId).sort();
    };
    await rows.ours.postpone('dev_3', { afterMs: 60_000, reason: 'away', failures: 1 });
    await rows.ours.setDeviceState('dev_4', 'replaced', 'x');
    expect(await due()).toEqual(['dev_2', 'dev_5']);
    await rows.session.query('SELECT pg_advisory_unlock_all()');
    expect(await due()).toEqual(['dev_1', 'dev_2', 'dev_5']);
    expect(await due(['dev_5', 'dev_none'])).toEqual(['dev_5']);
    expect(await due([])).toEqual([]);
  });

  test('not while another session works on it', async () => {
    await rows.createReceipt();
    await forgotten();
    await rows.session.query('SELECT pg_advisory_lock($1, $2)', [LANE_LOCK_SPACE, rows.laneLock.lockNumber]);
    expect(await found()).toEqual([]);
  });
});

async function waitMs(repository: LaneRepository): Promise<number> {
  return (await repository.read(rows.deviceId, 1))?.waitMs ?? -1;
}

/** Times of a machine that may be busy: never above, not far below. */
function within(ms: number, low: number, high: number): boolean {
  return ms > low - 15_000 && ms <= high + 1;
}
