// Promise: a terminal works for one merchant; no lane of another one sends to it, and none is in the way of its numbers.
import { BASELINE, LaneRows } from './testing/lane-rows.js';

const TERMINAL = String(BASELINE.terminalId);

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
  await rows.sql.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_2', 'other', 'Other', '300000000');
    INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_2', 'mer_2', 'b', 'B')`);
});
afterAll(() => rows?.stop());
beforeEach(async () => {
  await rows.clear();
  await rows.sql.query('DELETE FROM terminals');
  await rows.holdLane();
});
afterEach(() => rows.session.end());

const holds = (merchantId: string): Promise<unknown> =>
  rows.sql.query('INSERT INTO terminals (terminal_id, merchant_id) VALUES ($1, $2)', [TERMINAL, merchantId]);

async function deviceOfOther(id: string): Promise<void> {
  await rows.createDevice(id);
  await rows.sql.query(`UPDATE devices SET merchant_id = 'mer_2', branch_id = 'brn_2' WHERE id = $1`, [id]);
}

const holder = (): Promise<{ merchant_id: string }> => rows.one('SELECT merchant_id FROM terminals');
const notified = async (): Promise<{ merchant_id: string; data: unknown }[]> =>
  (
    await rows.sql.query<{ merchant_id: string; data: unknown }>(
      `SELECT merchant_id, data FROM events WHERE type = 'device.terminal_contested'`,
    )
  ).rows;

describe('the intent', () => {
  test('is opened where the merchant holds the terminal, and where no merchant does', async () => {
    expect(await rows.ours.openAttempt(rows.intent(await rows.createReceipt()))).toBe('opened');
    await rows.sql.query(`UPDATE attempts SET state = 'not_registered'`);
    await holds('mer_1');
    expect(await rows.ours.openAttempt(rows.intent(await rows.createReceipt()))).toBe('opened');
  });

  test('is not opened once another merchant holds it: nothing is sent, the receipt waits', async () => {
    const receipt = await rows.createReceipt();
    await holds('mer_2');
    expect(await rows.ours.openAttempt(rows.intent(receipt))).toBe('withdrawn');
    expect(await rows.receipt(receipt)).toMatchObject({ status: 'accepted', device_id: rows.deviceId });
    expect((await rows.sql.query('SELECT FROM attempts')).rowCount).toBe(0);
  });
});

describe('what a register says it is', () => {
  test('makes the first merchant the holder', async () => {
    expect(await rows.ours.saveIdentity(rows.deviceId, BASELINE, [])).toBe('saved');
    expect(await holder()).toEqual({ merchant_id: 'mer_1' });
    expect(await rows.ours.saveIdentity(rows.deviceId, BASELINE, [])).toBe('saved');
  });

  test('is not enough for another one: its lane learns nothing, the holder is notified once a day', async () => {
    await rows.ours.saveIdentity(rows.deviceId, BASELINE, []);
    await deviceOfOther('dev_2');
    for (let times = 0; times < 3; times += 1) {
      expect(await rows.ours.saveIdentity('dev_2', BASELINE, ['journal'])).toBe('claimed_elsewhere');
    }
    expect(await rows.lane('dev_2')).toMatchObject({ baseline: null });
    // The terminal stands on the device: it is what has to be proven.
    expect(await rows.one('SELECT terminal_id, capabilities FROM devices WHERE id = $1', 'dev_2')).toEqual({
      ...{ terminal_id: TERMINAL, capabilities: [] },
    });
    expect(await notified()).toEqual([
      { merchant_id: 'mer_1', data: { device_id: rows.deviceId, terminal_id: TERMINAL } },
    ]);
    await rows.sql.query(`UPDATE terminals SET contested_at = contested_at - interval '25 hours'`);
    await rows.ours.saveIdentity('dev_2', BASELINE, []);
    expect(await notified()).toHaveLength(2);
    expect(await holder()).toEqual({ merchant_id: 'mer_1' });
  });

  test('of two merchants that come at the same moment makes one the holder', async () => {
    await deviceOfOther('dev_2');
    const [first, second] = await Promise.all([
      rows.ours.saveIdentity(rows.deviceId, BASELINE, []),
      rows.ours.saveIdentity('dev_2', BASELINE, []),
    ]);
    expect([first, second].sort()).toEqual(['claimed_elsewhere', 'saved']);
    expect(await holder()).toEqual({ merchant_id: first === 'saved' ? 'mer_1' : 'mer_2' });
  });
});

test('the same sequence of the same terminal at two merchants is no obstacle; at one merchant it is', async () => {
  const register = `UPDATE receipts SET status = 'registered', terminal_id = $2, receipt_seq = 7, registered_at = now()
                     WHERE id = $1`;
  const [own, other, again] = [await rows.createReceipt(), await rows.createReceipt(), await rows.createReceipt()];
  await rows.sql.query(`UPDATE receipts SET merchant_id = 'mer_2' WHERE id = $1`, [other]);
  await rows.sql.query(register, [own, TERMINAL]);
  await rows.sql.query(register, [other, TERMINAL]);
  await expect(rows.sql.query(register, [again, TERMINAL])).rejects.toThrow(
    'receipts_one_per_registration_of_merchant',
  );
});
