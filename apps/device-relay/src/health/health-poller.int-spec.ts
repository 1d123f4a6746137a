// Promise: every register is polled in time, by one relay at once, however many others are silent; each change is published once.
import { PrismaService } from '#database';
import { visitedRows } from '#database/testing';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import type { Watch } from '../watch.js';
import { HealthRepository } from './health.repository.js';
import { WatchRig } from '../testing/watch-rig.js';

const MINUTE = 60_000;
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

async function pollAfter(ms: number): Promise<void> {
  rig.time.nowMs += ms;
  while (await relay.poller.beginDue()) await relay.poller.settle();
  await relay.poller.settle();
}

test('a poll writes reading, subscription, owner and when it is due again', async () => {
  const register = await rig.addDevice('dev_1');
  register.subscriptionExpiresAt = '2027-01-01T00:00:00.000Z';
  await rig.sell('dev_1');
  await pollAfter(0);
  const device = await rig.device('dev_1');
  const shift = { number: 1, documents: 1, closedAt: null, openedAt: rig.at(0), busySince: rig.at(0) };
  expect(device).toMatchObject({
    reading: { terminalId: register.terminalId, receiptSeq: 1, unsentReceipts: 0, zReportsUsed: 1, shift },
    business: { tin: '300000000', branchId: 'b' },
    subscription_expires_at: new Date('2027-01-01T00:00:00.000Z'),
    close_due_at: new Date('2026-11-20T23:50:00+05:00'),
    ...{ state: 'online', poll_failures: 0, reading_at: new Date(rig.time.nowMs) },
  });
  const dueInMs = (device['poll_due_at'] as Date).getTime() - rig.time.nowMs;
  expect(dueInMs).toBeGreaterThanOrEqual(16 * MINUTE);
  expect(dueInMs).toBeLessThanOrEqual(24 * MINUTE);
  expect(await rig.types()).toEqual(['shift.opened']);
});

test.each([
  ['was silent when it dialled in', { state: 'unreachable', reason: 'waiting for enrolment' }],
  ['has another module, which a person adopted', { state: 'online', reason: null }],
])(
  'a linked register that %s is asked who it is, and its poll says nothing of its state',
  async (_what, { state, reason }) => {
    await rig.addDevice('dev_1');
    await rig.addDevice('dev_2');
    await rig.sql.query(
      `UPDATE devices SET base_url = NULL, transport = 'link', terminal_id = NULL, journal_id = NULL, state = $1::device_state, state_reason = $2
      WHERE id = 'dev_1'`,
      [state, reason],
    );
    await rig.sql.query(`INSERT INTO link_keys (id, device_id, public_key) VALUES ('lky_1', 'dev_1', '\\x01')`);
    await pollAfter(0);
    expect([await rig.device('dev_1'), rig.admitted]).toMatchObject([{ state, state_reason: reason }, ['dev_1']]);
    await rig.sql.query(`UPDATE devices SET terminal_id = 'UZ1' WHERE id = 'dev_1'`);
    await pollAfter(30 * MINUTE);
    expect([await rig.device('dev_1'), rig.admitted]).toMatchObject([{ state: 'online' }, ['dev_1']]);
  },
);

test('a claim visits what it takes, however many others are due', async () => {
  const prisma = new PrismaService({
    url: rig.database.url,
    poolSize: 1,
    applicationName: 'one',
    lockTimeoutMs: 5_000,
  });
  try {
    await rig.addDevice('dev_1');
    await rig.sql.query(
      `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, registered_at, poll_due_at)
       SELECT 'dev_due' || n, merchant_id, branch_id, name, base_url, api_key_sealed, registered_at, now() - n * interval '1 s'
         FROM devices, generate_series(1, 20000) AS n WHERE id = 'dev_1'`,
    );
    await rig.sql.query('UPDATE devices SET poll_due_at = NULL WHERE id = $1', ['dev_1']);
    await rig.sql.query('VACUUM ANALYZE devices');
    const visited = async (): Promise<number> => {
      // Else a session says within a second what it has read: the rows that this test changes as well.
      await prisma.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
      await rig.sql.query('SELECT pg_stat_force_next_flush()');
      return visitedRows(rig.sql, ['devices']);
    };
    const polls = new HealthRepository(prisma);
    const before = await visited();
    const claims: string[][] = [];
    for (let claim = 0; claim < 8; claim += 1)
      claims.push((await polls.claimDue(10, MINUTE)).map(({ device }) => device.id));
    const longestDue = Array.from({ length: 10 }, (_, index) => `dev_due${20_000 - index}`);
    expect([claims[0], claims[1]?.toSorted()]).toEqual([['dev_1'], longestDue.toSorted()]);
    expect(new Set(claims.flat()).size).toBe(71);
    // Each is found, and written; the lane, the merchant and the receipts are read beside it.
    expect((await visited()) - before).toBeLessThan(80 * 20);

    // All are due later but a few, and the plans of before are kept.
    await rig.sql.query(`UPDATE devices SET poll_due_at = now() + interval '1 hour' + random() * interval '1 day'`);
    await rig.sql.query('VACUUM devices');
    const beforeFew = await visited();
    for (let claim = 0; claim < 8; claim += 1) {
      const ids = [1, 2, 3].map((n) => `dev_due${claim * 3 + n}`);
      await rig.sql.query(`UPDATE devices SET poll_due_at = now() WHERE id = ANY($1)`, [ids]);
      const claimed = await polls.claimDue(50, 60 * MINUTE, MINUTE);
      expect(claimed.map(({ device }) => device.id).toSorted()).toEqual(ids.toSorted());
    }
    expect((await visited()) - beforeFew).toBeLessThan(24 * 25);
  } finally {
    await prisma.$disconnect();
  }
});

test('where few polls are due those that would be soon come along, but for registers in doubt', async () => {
  await rig.addDevice('dev_1');
  const polls = new HealthRepository(rig.prisma);
  const claim = async (limit: number): Promise<string[]> =>
    (await polls.claimDue(limit, 60 * MINUTE, 2 * MINUTE)).map(({ device }) => device.id).toSorted();
  const addDue = async (name: string, count: number, inSeconds: number, failures = 0): Promise<string[]> => {
    const { rows } = await rig.sql.query<{ id: string }>(
      `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, registered_at, poll_due_at, poll_failures)
       SELECT $1 || n, merchant_id, branch_id, name, base_url, api_key_sealed, registered_at, now() + make_interval(secs => $3), $4
         FROM devices, generate_series(1, $2::int) AS n WHERE id = 'dev_1' RETURNING id`,
      [name, count, inSeconds, failures],
    );
    return rows.map(({ id }) => id);
  };
  await rig.sql.query(`UPDATE devices SET poll_due_at = now() + interval '1 day'`);

  const soon = await addDue('dev_soon', 3, 100);
  await addDue('dev_doubt', 2, 100, 1);
  await addDue('dev_later', 2, 3_600);
  expect(await claim(50)).toEqual([]);
  const due = await addDue('dev_due', 2, -1);
  expect(await claim(50)).toEqual([...due, ...soon].toSorted());
  // Of a register in doubt that is due, the poll is not put off.
  const doubted = await addDue('dev_unsure', 1, -1, 1);
  expect(await claim(50)).toEqual(doubted);

  const crowd = await addDue('dev_crowd', 10, -1);
  await addDue('dev_next', 3, 100);
  expect(await claim(50)).toEqual(crowd.toSorted());
  await addDue('dev_last', 2, -2);
  expect(await claim(2)).toEqual(['dev_last1', 'dev_last2']);
});

test('a poll that is under way is not taken early by another relay', async () => {
  await rig.addDevice('dev_1');
  let asked = 0;
  let answer: (silence: { kind: 'unreachable'; reason: string }) => void = () => undefined;
  rig.registerOf('dev_1').status = () => {
    asked += 1;
    return new Promise((resolve) => (answer = resolve));
  };
  await relay.poller.beginDue();
  await untilTrue(() => asked === 1, 'the register is asked');
  rig.time.nowMs += 118_000;
  await rig.addDevice('dev_2');
  await rig.sql.query(`UPDATE devices SET poll_due_at = $1 WHERE id = 'dev_2'`, [rig.at(0)]);
  const other = rig.relay();
  await other.poller.beginDue();
  await other.poller.settle();
  expect(rig.registerOf('dev_2').calls).toContain('status');
  expect(asked).toBe(1);
  answer({ kind: 'unreachable', reason: 'it was silent' });
  await relay.poller.settle();
});

test('what a register announces is learned by a poll, also what it no longer announces', async () => {
  const register = await rig.addDevice('dev_1');
  const known = async (): Promise<unknown> => (await rig.device('dev_1'))['capabilities'];
  const poll = async (): Promise<void> => {
    await rig.sql.query('UPDATE devices SET poll_due_at = NULL');
    await pollAfter(1);
  };
  for (const capabilities of [
    ['idempotency', 'journal', 'commission'],
    ['idempotency', 'journal'],
  ]) {
    register.capabilities = capabilities;
    await poll();
    expect(await known()).toEqual(capabilities);
  }
  register.asleep = true;
  await poll();
  expect(await known()).toEqual(['idempotency', 'journal']);
});

test('asks two calls of a register where nothing has moved, and the shift again when something has', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1');
  await pollAfter(0);
  register.calls.length = 0;
  rig.time.nowMs += 1;
  await rig.sql.query('UPDATE devices SET poll_due_at = NULL');
  await pollAfter(0);
  expect(register.calls).toEqual(['status', 'fm/info']);
  await rig.sell('dev_1');
  await rig.sql.query('UPDATE devices SET poll_due_at = NULL');
  await pollAfter(1);
  expect(register.calls.slice(2)).toEqual(['status', 'fm/info', 'current', 'stats']);
});

test('a register whose classification is older than the gateway’s is reported once, and once more when it has caught up', async () => {
  const version = (number: number): Promise<unknown> =>
    rig.sql.query(
      `INSERT INTO classifier_entries (spic, name, packages, units, marked, cash_allowed, vat_percents, active, version)
       VALUES ($1, '{}', '[]', 796, false, true, '{12}', true, $2) ON CONFLICT (spic) DO UPDATE SET version = $2`,
      ['00000000000000001', number],
    );
  const [register] = [await rig.addDevice('dev_1'), await rig.addDevice('dev_2')];
  const pollAgain = async (): Promise<unknown> => {
    await rig.sql.query('UPDATE devices SET poll_due_at = NULL');
    await pollAfter(1);
    return (await rig.device('dev_1'))['classifier_is_old'];
  };
  register.classifierVersion = 1;
  expect(await pollAgain()).toBeNull();
  await version(1);
  expect(await pollAgain()).toBe(false);
  await version(2);
  expect(await pollAgain()).toBe(true);
  await version(3);
  expect(await pollAgain()).toBe(true);
  expect(await rig.device('dev_1')).toMatchObject({ reading: { classifierVersion: 1 } });
  // A number that is none of ours must not stop the polls of all others.
  register.classifierVersion = Number.MAX_SAFE_INTEGER;
  expect(await pollAgain()).toBe(false);
  register.classifierVersion = null;
  expect(await pollAgain()).toBeNull();
  expect(await rig.types('device.%')).toEqual(['device.classifier_old', 'device.classifier_current']);
  expect(await rig.one(`SELECT data FROM events WHERE type = 'device.classifier_old'`)).toEqual({
    data: { device_id: 'dev_1', classifier_version: 1, newest_version: 2 },
  });
  await rig.sql.query('DELETE FROM classifier_entries');
});

test('silence counts to three, comes back at once, and rings the lane', async () => {
  const register = await rig.addDevice('dev_1');
  await pollAfter(0);
  register.asleep = true;
  await pollAfter(25 * MINUTE);
  await pollAfter(5 * MINUTE);
  expect(await rig.device('dev_1')).toMatchObject({ state: 'online', poll_failures: 2 });
  await pollAfter(5 * MINUTE);
  expect(await rig.device('dev_1')).toMatchObject({ state: 'unreachable', state_since: new Date(rig.time.nowMs) });
  await rig.sql.query(`UPDATE lanes SET due_at = now() + interval '1 minute', failures = 6`);
  register.asleep = false;
  expect(rig.rung).toEqual([]);
  await pollAfter(25 * MINUTE);
  expect(await rig.device('dev_1')).toMatchObject({ state: 'online', state_reason: null, poll_failures: 0 });
  expect(rig.rung).toEqual(['dev_1']);
  expect(await rig.one('SELECT due_at FROM lanes')).toEqual({ due_at: null });
  expect(await rig.types('device.%')).toEqual(['device.unreachable', 'device.online']);
});

test('a lane that settles is not hurried by a register that is back', async () => {
  await rig.addDevice('dev_1');
  await rig.sql.query(`UPDATE devices SET state = 'unreachable'`);
  await rig.sql.query(`UPDATE lanes SET due_at = now() + interval '1 minute', settling_relay = 'rly_9'`);
  await pollAfter(0);
  expect(await rig.device('dev_1')).toMatchObject({ state: 'online' });
  expect((await rig.one<{ due_at: Date | null }>('SELECT due_at FROM lanes')).due_at).not.toBeNull();
});

test('disabled and deleted devices are never asked; a replaced one stays replaced', async () => {
  const registers = [await rig.addDevice('dev_1'), await rig.addDevice('dev_2'), await rig.addDevice('dev_3')];
  await rig.sql.query(`UPDATE devices SET state = 'disabled' WHERE id = 'dev_1';
                       UPDATE devices SET deleted_at = now() WHERE id = 'dev_2';
                       UPDATE devices SET state = 'replaced' WHERE id = 'dev_3'`);
  await pollAfter(0);
  expect(registers.map(({ calls }) => calls.length > 0)).toEqual([false, false, true]);
  expect(await rig.device('dev_3')).toMatchObject({ state: 'replaced', reading: null });
  expect(await rig.types()).toEqual([]);
});

test('another terminal than the lane knows is a replaced module', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sql.query(`UPDATE lanes SET baseline = $1`, [
    { terminalId: 'UZ-other', journalId: null, sequence: null, reading: null },
  ]);
  await pollAfter(0);
  expect(await rig.device('dev_1')).toMatchObject({ state: 'replaced', reading: null });
  expect(register.calls).toEqual(['status', 'fm/info']);
});

test('a state set by another writer while the register was polled stands', async () => {
  const register = await rig.addDevice('dev_1');
  let letAnswer = (): void => undefined;
  const gate = new Promise<void>((resolve) => (letAnswer = resolve));
  const answer = register.status.bind(register);
  register.status = () => gate.then(answer);
  register.activated = false;
  await relay.poller.beginDue();
  await rig.sql.query(`UPDATE devices SET state = 'disabled', state_since = now()`);
  letAnswer();
  await relay.poller.settle();
  expect(await rig.device('dev_1')).toMatchObject({ state: 'disabled', reading: { receiptSeq: 0 } });
  expect(await rig.types()).toEqual([]);
});

test('two relays never ask the same register at once, and a dead one gives its registers back', async () => {
  for (let index = 0; index < 150; index += 1) await rig.addDevice(`dev_${index}`);
  const other = rig.relay();
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([relay.poller.beginDue(), other.poller.beginDue()]);
    await Promise.all([relay.poller.settle(), other.poller.settle()]);
  }
  for (const { calls } of rig.registers.values()) expect(calls.filter((call) => call === 'status')).toEqual(['status']);
  // Claimed by a relay that died.
  await rig.sql.query('UPDATE devices SET poll_due_at = $1', [rig.at(120_000)]);
  await pollAfter(119_000);
  expect(rig.registerOf('dev_0').calls.filter((call) => call === 'status')).toHaveLength(1);
  await pollAfter(2_000);
  expect(rig.registerOf('dev_0').calls.filter((call) => call === 'status')).toHaveLength(2);
});

test('a device that another relay is just taking is passed by, not waited for, and not taken twice', async () => {
  for (const id of ['dev_1', 'dev_2', 'dev_3']) await rig.addDevice(id);
  await rig.sql.query('BEGIN');
  await rig.sql.query(`UPDATE devices SET poll_due_at = $1 WHERE id = 'dev_2'`, [rig.at(120_000)]);
  const began = relay.poller.beginDue().then(() => relay.poller.settle());
  await untilTrue(() => rig.registerOf('dev_3').calls.length > 0, 'the others are asked meanwhile');
  await rig.sql.query('COMMIT');
  await began;
  expect(rig.registerOf('dev_2').calls).toEqual([]);
});

test('registers that never answer hold up only their own places', async () => {
  for (let index = 0; index < 30; index += 1) await rig.addDevice(`dev_${index}`);
  const holes = [...rig.registers.values()].slice(0, 10);
  const never = new Promise<never>(() => undefined);
  for (const hole of holes) hole.status = () => never;
  relay = rig.relay({ pollConcurrency: 15 });
  const asked = (): number => [...rig.registers.values()].filter(({ calls }) => calls.includes('fm/info')).length;
  const { poller } = relay;
  await untilTrue(async () => {
    await poller.beginDue();
    return asked() === 20;
  }, 'all others are asked');
});

test('a check is a poll now, lifts what a person has mended, and reports when the register does not answer', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sql.query(`UPDATE devices SET state = 'blocked', state_reason = 'E-016: VAT', poll_due_at = $1`, [
    rig.at(9_999_999),
  ]);
  const polled = await relay.poller.pollNow('dev_1', { isAsked: true });
  expect(polled?.written).toEqual({ deviceId: 'dev_1', state: 'online', reason: null, isBack: true });
  register.asleep = true;
  expect((await relay.poller.pollNow('dev_1', { isAsked: true }))?.outcome).toMatchObject({ hasAnswered: false });
  expect(await relay.poller.pollNow('dev_none', {})).toBeNull();
});
