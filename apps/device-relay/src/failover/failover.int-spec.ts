// Promise: what waits for a register that stays away goes to another, in order, and is never sent by both.
import type { Watch } from '../watch.js';
import { LaneRepository } from '../lanes/lane.repository.js';
import type { LaneLockHandle } from '../lanes/ports.js';
import { BASELINE } from '../lanes/testing/lane-rows.js';
import { WatchRig } from '../testing/watch-rig.js';
import { FailoverRepository } from './failover.repository.js';

const AWAY = { profile: { failoverAfterMs: 5_000 } };
let rig: WatchRig;
let relay: Watch;

beforeAll(async () => {
  rig = await WatchRig.start('2026-11-20T10:00:00+05:00');
});

afterAll(() => rig?.stop());

beforeEach(async () => {
  await rig.clear();
  relay = rig.relay();
});

async function goesAway(deviceId: string, state = 'unreachable'): Promise<void> {
  await rig.sql.query('UPDATE devices SET state = $2::device_state, state_since = $3 WHERE id = $1', [
    ...[deviceId, state, rig.at(0)],
  ]);
}

async function lanes(): Promise<Record<string, string[]>> {
  const { rows } = await rig.sql.query<{ device_id: string; ids: string[] }>(
    `SELECT device_id, array_agg(id ORDER BY lane_place) AS ids FROM receipts WHERE status = 'accepted' GROUP BY device_id`,
  );
  return Object.fromEntries(rows.map(({ device_id: id, ids }) => [id, ids]));
}

async function after(ms: number): Promise<boolean> {
  rig.time.nowMs += ms;
  return relay.failover.poll();
}

test('moves after the time of the profile, in order, behind what waits there, and rings', async () => {
  await rig.addDevice('dev_1', AWAY);
  await rig.addDevice('dev_2');
  const [first, second] = [await rig.accept('dev_1'), await rig.accept('dev_1')];
  const theirs = await rig.accept('dev_2');
  await goesAway('dev_1');
  expect(await after(4_999)).toBe(false);
  expect(await after(1)).toBe(true);
  expect(await lanes()).toEqual({ dev_2: [theirs, first, second] });
  expect(rig.rung).toEqual(['dev_2']);
  const moved = await rig.events('receipt.moved');
  expect(moved.map(({ subject, data }) => ({ subject, ...data }))).toEqual(
    [first, second].map((id) => ({ subject: id, receipt_id: id, from_device_id: 'dev_1', device_id: 'dev_2' })),
  );
  expect(await after(1)).toBe(false);
});

test.each(['blocked', 'expired', 'replaced', 'disabled'])('a device that is %s is away too', async (state) => {
  await rig.addDevice('dev_1', AWAY);
  await rig.addDevice('dev_2');
  const id = await rig.accept('dev_1');
  await goesAway('dev_1', state);
  await after(5_000);
  expect(await lanes()).toEqual({ dev_2: [id] });
});

test('not without the setting, not from a healthy device, and refunds never', async () => {
  await rig.addDevice('dev_1');
  await rig.addDevice('dev_2', AWAY);
  await rig.addDevice('dev_3', AWAY);
  await rig.addDevice('dev_4');
  const waiting = {
    dev_1: [await rig.accept('dev_1')],
    dev_2: [await rig.accept('dev_2')],
    dev_3: [await rig.accept('dev_3', { type: 'refund' })],
  };
  await goesAway('dev_1');
  await goesAway('dev_3');
  await after(3_600_000);
  expect(await lanes()).toEqual(waiting);
});

test('a group drains a backlog evenly, the branch before the group, by work', async () => {
  await rig.addDevice('dev_1', { ...AWAY, groupId: 'grp_1' });
  for (const id of ['dev_2', 'dev_3', 'dev_4']) await rig.addDevice(id, { branchId: 'brn_2', groupId: 'grp_1' });
  await rig.addDevice('dev_5', { branchId: 'brn_2' });
  for (let index = 0; index < 250; index += 1) await rig.accept('dev_1');
  for (let index = 0; index < 50; index += 1) await rig.accept('dev_4');
  await goesAway('dev_1');
  rig.time.nowMs += 5_000;
  while (await relay.failover.poll());
  const moved = await lanes();
  expect(Object.entries(moved).map(([id, ids]) => [id, ids.length])).toEqual([
    ['dev_2', 100],
    ['dev_3', 100],
    ['dev_4', 100],
  ]);
  for (const ids of Object.values(moved)) expect(ids.slice(0, 50)).toEqual([...ids.slice(0, 50)].sort());
});

test('60 lone registers and 60 with nothing but refunds do not hide the one behind them', async () => {
  for (let index = 10; index < 70; index += 1) {
    await rig.addDevice(`dev_${index}`, { ...AWAY, branchId: 'brn_2' });
    await rig.addDevice(`dev_6${index}`, AWAY);
    await rig.accept(`dev_${index}`);
    await rig.accept(`dev_6${index}`, { type: 'refund' });
    await goesAway(`dev_${index}`);
    await goesAway(`dev_6${index}`);
  }
  await rig.addDevice('dev_8', AWAY);
  await rig.addDevice('dev_9');
  const id = await rig.accept('dev_8');
  await goesAway('dev_8');
  const [few, many] = [500, 0].map((bound) => new FailoverRepository(rig.prisma, rig.now, bound));
  rig.time.nowMs += 4_999;
  expect([await few?.devicesAway(200), await many?.devicesAway(200)]).toEqual([[], []]);
  rig.time.nowMs += 1;
  const away = await few?.devicesAway(200);
  expect(away).toContain('dev_8');
  // However many are away, the answer is the same.
  expect(await many?.devicesAway(200)).toEqual(away);
  await after(0);
  for (let polls = 0; polls < 3; polls += 1) await relay.failover.poll();
  expect((await lanes())['dev_9']).toEqual([id]);
});

test('a device that cannot be moved from does not keep the others waiting', async () => {
  for (const name of ['dev_1', 'dev_2']) await rig.addDevice(name, AWAY);
  await rig.addDevice('dev_3');
  const [stuck, id] = [await rig.accept('dev_1'), await rig.accept('dev_2')];
  for (const name of ['dev_1', 'dev_2']) await goesAway(name);
  await rig.sql.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`);
  await rig.sql.query(
    `CREATE TRIGGER refuse BEFORE UPDATE ON receipts FOR EACH ROW WHEN (OLD.id = '${stuck}') EXECUTE FUNCTION refuse()`,
  );
  try {
    expect(await after(5_000)).toBe(true);
    expect(await lanes()).toEqual({ dev_1: [stuck], dev_3: [id] });
  } finally {
    await rig.sql.query('DROP FUNCTION refuse CASCADE');
  }
});

test('only to who can take them: not draining, full, near its fuse, away, deleted, used up or still being tried out', async () => {
  await rig.addDevice('dev_1', AWAY);
  const unfit: [string, string][] = [
    ['dev_2', 'draining_since = now()'],
    ['dev_3', `reading = '{"unsentReceipts": 96, "maxUnsentReceipts": 100}'`],
    ['dev_4', `reading = jsonb_build_object('oldestUnsentAt', '${rig.at(-41 * 3_600_000)}')`],
    ['dev_5', `state = 'blocked'`],
    ['dev_6', 'deleted_at = now()'],
    ['dev_7', 'registered_at = NULL'],
    ['dev_8', `reading = '{"zReportsUsed": 832, "zReportsMax": 832}'`],
  ];
  for (const [id, change] of unfit) {
    await rig.addDevice(id);
    await rig.sql.query(`UPDATE devices SET ${change} WHERE id = '${id}'`);
  }
  const id = await rig.accept('dev_1');
  await goesAway('dev_1');
  await after(5_000);
  expect(await lanes()).toEqual({ dev_1: [id] });
});

test.each(['{"zReportsUsed": 831, "zReportsMax": 832}', '{"zReportsUsed": 5, "zReportsMax": 0}'])(
  'to a module that counts further shifts: %s',
  async (reading) => {
    await rig.addDevice('dev_1', AWAY);
    await rig.addDevice('dev_2');
    await rig.sql.query(`UPDATE devices SET reading = $1 WHERE id = 'dev_2'`, [reading]);
    const id = await rig.accept('dev_1');
    await goesAway('dev_1');
    await after(5_000);
    expect(await lanes()).toEqual({ dev_2: [id] });
  },
);

test('what a receipt must not lose is taken where it goes; without such a register it stays, and holds up nothing', async () => {
  await rig.addDevice('dev_1', AWAY);
  await rig.addDevice('dev_2');
  await rig.addDevice('dev_3');
  const announce = (id: string, capabilities: string[]): Promise<unknown> =>
    rig.sql.query('UPDATE devices SET capabilities = $2 WHERE id = $1', [id, capabilities]);
  await announce('dev_3', ['idempotency', 'journal', 'commission']);
  const stays: string[] = [];
  // More than one transaction moves at a time.
  for (let index = 0; index < 201; index += 1)
    stays.push(await rig.accept('dev_1', { requiredFields: ['commission', 'customer'] }));
  const sold = await rig.accept('dev_1', { requiredFields: ['commission'] });
  const omitted = await rig.accept('dev_1', { requiredFields: [] });
  await goesAway('dev_1');
  rig.time.nowMs += 5_000;
  while (await relay.failover.poll());
  expect(await lanes()).toEqual({ dev_1: stays, dev_2: [omitted], dev_3: [sold] });
  await announce('dev_2', ['customer', 'commission']);
  while (await relay.failover.poll());
  expect((await lanes())['dev_2']).toEqual([omitted, ...stays]);
});

test.each([
  ['an open attempt', 'open', null, 'dev_1'],
  ['sent again by an operator', 'not_registered', { resolution: {}, why: 'parked' }, 'dev_1'],
  ['proven by counters', 'not_registered', { first: {}, second: {} }, 'dev_1'],
  ['a repetition that was refused', 'not_registered', { refused_again: {} }, 'dev_1'],
  ['parked once', 'unknown', {}, 'dev_1'],
  ['nothing was sent', 'not_registered', { answer: { kind: 'not_sent' } }, 'dev_2'],
  ['refused at the first sending', 'not_registered', { answer: { kind: 'refused', code: 'E-001' } }, 'dev_2'],
])('tried before, %s: it stays where it can be proven', async (...[, state, outcome, where]) => {
  await rig.addDevice('dev_1', AWAY);
  await rig.addDevice('dev_2');
  const id = await rig.accept('dev_1');
  await rig.sql.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, outcome)
     VALUES ('att_' || $1, $1, 'dev_1', 1, $2::attempt_state, '{}', '\\x00', 'rly_1', $3)`,
    [id, state, outcome],
  );
  await goesAway('dev_1');
  await after(5_000);
  expect(await lanes()).toEqual({ [where]: [id] });
});

test('older than a restore of the database: it stays where its key is known; where it came from is noted on the others', async () => {
  await rig.addDevice('dev_1', AWAY);
  await rig.addDevice('dev_2');
  const old = await rig.accept('dev_1');
  await rig.sql.query(`INSERT INTO database_identity (identity, changed_at) VALUES ('x', now())
                       ON CONFLICT (id) DO UPDATE SET changed_at = now()`);
  const fresh = await rig.accept('dev_1');
  await rig.sql.query(`UPDATE receipts SET created_at = now() - interval '1 s' WHERE id = $1`, [old]);
  await rig.sql.query(`UPDATE receipts SET created_at = now() + interval '1 s' WHERE id = $1`, [fresh]);
  await goesAway('dev_1');
  await after(5_000);
  expect(await lanes()).toEqual({ dev_1: [old], dev_2: [fresh] });
  expect(await rig.one('SELECT moved_from FROM receipts WHERE id = $1', fresh)).toEqual({ moved_from: ['dev_1'] });
  await rig.sql.query('UPDATE database_identity SET changed_at = NULL');
});

test('on a server that no relay has met since it was promoted nothing is moved', async () => {
  await rig.addDevice('dev_1', AWAY);
  await rig.addDevice('dev_2');
  const id = await rig.accept('dev_1');
  await rig.sql.query(`INSERT INTO database_identity (identity, server_started) VALUES ('x', now() - interval '1 day')
                       ON CONFLICT (id) DO UPDATE SET server_started = excluded.server_started`);
  await goesAway('dev_1');
  await after(5_000);
  expect(await lanes()).toEqual({ dev_1: [id] });
  await rig.sql.query('UPDATE database_identity SET server_started = NULL');
  await after(5_000);
  expect(await lanes()).toEqual({ dev_2: [id] });
});

describe('against the intent to send', () => {
  let laneLock: LaneLockHandle;
  beforeAll(async () => {
    const { started } = await rig.one('SELECT pg_postmaster_start_time()::text AS started');
    const held = { isHeld: () => true, release: () => Promise.resolve(), releaseAndAsk: () => Promise.resolve(null) };
    laneLock = { lockNumber: 0, backendPid: 0, serverStartedAt: String(started), ...held };
  });
  const intent = (receiptId: string, deviceId: string, attemptId: string) => ({
    ...{ attemptId, receiptId, deviceId, baseline: BASELINE, request: Buffer.from('bytes'), laneLock },
  });

  test('the mover holds the row first: the intent waits, and finds nothing to send', async () => {
    await rig.addDevice('dev_1', AWAY);
    await rig.addDevice('dev_2');
    const id = await rig.accept('dev_1');
    const lane = new LaneRepository(rig.prisma, 'rly_1');
    await rig.sql.query('BEGIN');
    await rig.sql.query(`UPDATE receipts SET device_id = 'dev_2' WHERE id = $1 AND status = 'accepted'`, [id]);
    const opening = lane.openAttempt(intent(id, 'dev_1', 'att_1'));
    await rig.sql.query('COMMIT');
    expect(await opening).toBe('withdrawn');
    expect(await lane.openAttempt(intent(id, 'dev_2', 'att_2'))).toBe('opened');
  });

  test('the intent is first: the mover passes the receipt by', async () => {
    await rig.addDevice('dev_1', AWAY);
    await rig.addDevice('dev_2');
    const [id, next] = [await rig.accept('dev_1'), await rig.accept('dev_1')];
    await goesAway('dev_1');
    await rig.sql.query('BEGIN');
    await rig.sql.query(`UPDATE receipts SET status = 'sending' WHERE id = $1`, [id]);
    expect(await new FailoverRepository(rig.prisma).moveAway('dev_1')).toEqual(['dev_2']);
    await rig.sql.query('COMMIT');
    expect(await lanes()).toEqual({ dev_2: [next] });
  });

  test('200 times at the same instant, with two movers: one open attempt or one move, never both', async () => {
    await rig.addDevice('dev_1', AWAY);
    await rig.addDevice('dev_2');
    await goesAway('dev_1');
    const lane = new LaneRepository(rig.prisma, 'rly_1');
    const movers = [new FailoverRepository(rig.prisma), new FailoverRepository(rig.prisma)];
    const outcomes = { opened: 0, moved: 0 };
    for (let round = 0; round < 200; round += 1) {
      const id = await rig.accept('dev_1');
      const lead = (round % 4) * 3;
      const open = async (): Promise<string> => {
        for (let turn = 0; turn < lead; turn += 1) await rig.prisma.$queryRaw`SELECT 1`;
        return lane.openAttempt(intent(id, 'dev_1', `att_${round}`));
      };
      const [opened] = await Promise.all([open(), ...movers.map((mover) => mover.moveAway('dev_1'))]);
      const { status, device_id: deviceId } = await rig.one('SELECT status, device_id FROM receipts WHERE id = $1', id);
      expect([status, deviceId]).toEqual(opened === 'opened' ? ['sending', 'dev_1'] : ['accepted', 'dev_2']);
      outcomes[opened === 'opened' ? 'opened' : 'moved'] += 1;
      await rig.sql.query('DELETE FROM attempts; DELETE FROM receipts');
    }
    expect(await rig.types('receipt.moved')).toHaveLength(outcomes.moved);
    expect(outcomes.opened).toBeGreaterThan(0);
    expect(outcomes.moved).toBeGreaterThan(0);
  });
});
