// Promise: when the database's clock is set back, registers are asked and lanes go on at once, not when it is as late again as it was.
import type { Watch } from './watch.js';
import { WatchRig } from './testing/watch-rig.js';

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

/** The rig's clock is that of the database for all but lanes. */
async function clockGoesBack(ms: number): Promise<void> {
  rig.time.nowMs -= ms;
  await relay.dueTimes.setRight();
}

const stateOf = async (id: string): Promise<unknown> => (await rig.device(id))['state'];

test('a register that was away while the clock was ahead is found to be back', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.addDevice('dev_2');
  register.asleep = true;
  for (let round = 0; round < 4; round += 1) {
    rig.time.nowMs += HOUR;
    await rig.work(relay);
  }
  expect(await stateOf('dev_1')).toBe('unreachable');
  register.asleep = false;
  await clockGoesBack(24 * HOUR);
  await rig.work(relay);
  expect(await stateOf('dev_1')).toBe('online');
  const { ahead } = await rig.one('SELECT max(poll_due_at) > $1::timestamptz AS ahead FROM devices', rig.at(HOUR));
  expect(ahead).toBe(false);
});

test('what is due as it should be is left alone', async () => {
  await rig.addDevice('dev_1');
  await rig.work(relay);
  await rig.sql.query(`UPDATE devices SET resend_due_at = $1`, [rig.at(2 * HOUR)]);
  await rig.sql.query(`UPDATE lanes SET due_at = now() + interval '1 minute', due_reason = 'away'`);
  const read = (): Promise<unknown> =>
    rig.one(
      'SELECT poll_due_at, resend_due_at, due_at, l.updated_at FROM devices d JOIN lanes l ON l.device_id = d.id',
    );
  const before = await read();
  await relay.dueTimes.setRight();
  expect(await read()).toEqual(before);
});

test('a lane waits as long as it was to wait, from now on; a settle time is not shortened', async () => {
  await rig.addDevice('dev_1');
  await rig.sql.query(
    `UPDATE lanes SET updated_at = now() + interval '1 hour', due_at = now() + interval '1 hour 30 s', due_reason = 'settling',
                      settling_relay = 'rly_1', settle_until = now() + interval '1 hour 20 s'`,
  );
  await relay.dueTimes.setRight();
  const waits = await rig.one(
    `SELECT extract(epoch FROM due_at - updated_at)::int AS due, extract(epoch FROM settle_until - updated_at)::int AS settle,
            updated_at <= now() AS is_right, settling_relay FROM lanes`,
  );
  expect(waits).toEqual({ due: 30, settle: 20, is_right: true, settling_relay: 'rly_1' });
});
