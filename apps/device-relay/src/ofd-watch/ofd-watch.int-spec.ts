// Promise: what was registered reaches the OFD before the fuse; each receipt is warned of once, and marked sent when it is.
import type { Watch } from '../watch.js';
import { WatchRig } from '../testing/watch-rig.js';

const HOUR = 3_600_000;
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

async function after(ms: number, ...relays: Watch[]): Promise<void> {
  rig.time.nowMs += ms;
  await rig.work(...(relays.length > 0 ? relays : [relay]));
}

async function statuses(): Promise<string[]> {
  const { rows } = await rig.sql.query<{ ofd_status: string }>('SELECT ofd_status FROM receipts ORDER BY id');
  return rows.map((row) => row.ofd_status);
}

test('unsent while the OFD is down, sent by the register when it is back, published once', async () => {
  const register = await rig.addDevice('dev_1');
  register.ofdDown = true;
  await rig.sell('dev_1');
  await rig.sell('dev_1');
  await after(1_000);
  expect(register.calls).toContain('send-unsent');
  expect(await rig.one(`SELECT ofd_error FROM receipts WHERE receipt_seq = 2`)).toEqual({
    ofd_error: 'T-001: all OFD servers failed',
  });
  register.ofdDown = false;
  await rig.sell('dev_1');
  await after(3 * HOUR);
  expect(await statuses()).toEqual(['sent', 'sent', 'sent']);
  expect(await rig.types('receipt.%')).toEqual(['receipt.ofd_sent', 'receipt.ofd_sent']);
  await after(3 * HOUR);
  expect(await rig.device('dev_1')).toMatchObject({ resend_due_at: null, reading: { unsentReceipts: 0 } });
  expect(await rig.types('receipt.%')).toHaveLength(2);
});

test('what the register sent by itself is seen by the next poll', async () => {
  const register = await rig.addDevice('dev_1');
  register.ofdDown = true;
  await rig.sell('dev_1');
  await rig.sql.query(`UPDATE devices SET resend_due_at = $1`, [rig.at(99 * HOUR)]);
  register.ofdDown = false;
  await register.sendUnsentReceipts();
  await after(1_000);
  expect(await statuses()).toEqual(['sent']);
});

test.each(['poll', 'resend'])(
  'in a copy that was put back, a %s takes the documents of others for none of ours',
  async (by) => {
    const register = await rig.addDevice('dev_1');
    register.ofdDown = true;
    await rig.sell('dev_1');
    await rig.sell('dev_1');
    const own = { receiptSeq: 2, transactionTimeMs: rig.time.nowMs };
    await rig.sql.query(`UPDATE lanes SET baseline = $1`, [
      { terminalId: register.terminalId, journalId: register.terminalId, sequence: 2, reading: null, own },
    ]);
    const later = rig.at(99 * HOUR);
    await rig.sql.query(
      by === 'poll' ? 'UPDATE devices SET resend_due_at = $1' : 'UPDATE devices SET poll_due_at = $1',
      [later],
    );
    register.putBack(2);
    rig.time.nowMs += 1_000;
    register.ofdDown = false;
    // Another seller, up to the number that we know.
    register.sell(50_000);
    register.sell(50_000);
    await after(1_000);
    expect(await statuses()).toEqual(['pending', 'pending']);
    if (by === 'poll') expect(await rig.device('dev_1')).toMatchObject({ state: 'replaced' });
  },
);

test('a receipt that is recorded while the register is asked is not taken for sent', async () => {
  const register = await rig.addDevice('dev_1');
  register.ofdDown = true;
  await rig.sell('dev_1');
  register.ofdDown = false;
  await register.sendUnsentReceipts();
  const answer = register.fmInfo.bind(register);
  register.fmInfo = async () => {
    const info = await answer();
    // Registered after the counters were read.
    register.ofdDown = true;
    rig.time.nowMs += 1;
    await rig.sell('dev_1');
    register.fmInfo = answer;
    return info;
  };
  rig.time.nowMs += 1_000;
  await relay.poller.beginDue();
  await relay.poller.settle();
  expect(await statuses()).toEqual(['sent', 'pending']);
});

test('what the register still names stays unsent; the others are sent', async () => {
  const register = await rig.addDevice('dev_1');
  register.ofdDown = true;
  for (let sale = 0; sale < 3; sale += 1) await rig.sell('dev_1');
  await rig.sql.query('UPDATE devices SET poll_due_at = $1', [rig.at(99 * HOUR)]);
  register.sendUnsentReceipts = () => {
    const errors = [{ receiptSeq: 2, code: 'T-003', message: 'refused' }];
    const answer = register.fmInfo.bind(register);
    register.fmInfo = async () => {
      const info = await answer();
      return info.kind === 'ok' ? { ...info, value: { ...info.value, receiptCount: 1 } } : info;
    };
    return Promise.resolve({ kind: 'ok', value: { success: false, total: 3, sent: 2, failed: 1, errors } });
  };
  rig.time.nowMs += 1_000;
  await relay.ofd.poll();
  await relay.ofd.settle();
  expect(await statuses()).toEqual(['sent', 'pending', 'sent']);
  expect(await rig.one('SELECT ofd_error FROM receipts WHERE receipt_seq = 2')).toEqual({
    ofd_error: 'T-003: refused',
  });
});

test('errors that name too little prove nothing', async () => {
  const register = await rig.addDevice('dev_1');
  register.ofdDown = true;
  await rig.sell('dev_1');
  register.sendUnsentReceipts = () =>
    Promise.resolve({ kind: 'ok', value: { success: false, total: 1, sent: 0, failed: 1, errors: [] } });
  await after(1_000);
  expect(await statuses()).toEqual(['pending']);
});

test('warned at 24 hours, alarmed at 40, once each, by two relays, while the register sleeps', async () => {
  const register = await rig.addDevice('dev_1');
  register.ofdDown = true;
  for (let sale = 0; sale < 3; sale += 1) await rig.sell('dev_1');
  const other = rig.relay();
  await after(1_000, relay, other);
  register.asleep = true;
  await after(23.9 * HOUR, relay, other);
  expect(await rig.types('receipt.%')).toEqual([]);
  await after(0.2 * HOUR, relay, other);
  expect(await rig.types('receipt.%')).toEqual(Array(3).fill('receipt.ofd_deadline_warning'));
  await after(10 * HOUR, relay, other);
  await after(6 * HOUR, relay, other);
  expect(await rig.types('receipt.ofd_deadline_alarm')).toHaveLength(3);
  await after(9 * HOUR, relay, other);
  expect(await rig.types('receipt.%')).toHaveLength(6);
});

test('an awake device shows the fuse: degraded, alarm, blocked, and online again when it is sent', async () => {
  const register = await rig.addDevice('dev_1', { closeAt: '23:50' });
  register.ofdDown = true;
  await rig.sell('dev_1');
  await after(1_000);
  for (let hour = 0; hour < 49; hour += 1) await after(HOUR);
  register.ofdDown = false;
  await after(HOUR);
  await after(1_000);
  const events = (await rig.events('device.%')).map(
    ({ type, data }) => `${type} ${String(data['reason']).slice(0, 12)}`,
  );
  expect(events).toEqual(['device.degraded ofd_warning:', 'device.blocked F-003: the o', 'device.online null']);
  expect(await statuses()).toEqual(['sent']);
});

test('more receipts than one batch holds', async () => {
  const register = await rig.addDevice('dev_1');
  register.ofdDown = true;
  for (let sale = 0; sale < 700; sale += 1) await rig.sell('dev_1');
  rig.time.nowMs += 25 * HOUR;
  while (await relay.ofd.poll());
  await relay.ofd.settle();
  // What the resend under way had locked is passed by, and comes with the next round.
  while (await relay.ofd.poll());
  expect(await rig.types('receipt.ofd_deadline_warning')).toHaveLength(700);
  register.ofdDown = false;
  await after(3 * HOUR);
  const subjects = (await rig.events('receipt.ofd_sent')).map(({ subject }) => subject);
  expect(new Set(subjects).size).toBe(700);
});
