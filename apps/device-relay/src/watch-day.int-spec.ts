// Promise: two days of fifty registers: every shift closed, every alarm published once, no document lost, whatever sleeps or fails.
import { WatchRig } from './testing/watch-rig.js';

const MINUTE = 60_000;
const STEP_MS = 30 * MINUTE;
const REGISTERS = 50;
const START = '2026-11-20T06:00:00+05:00';
const at = (text: string): number => Date.parse(`${text}+05:00`);

/** The OFD is away for 30 hours; for one register, whose line is broken too, for 42. */
const OFD_DOWN = {
  from: at('2026-11-20T10:00:00'),
  to: at('2026-11-21T16:00:00'),
  longerTo: at('2026-11-22T04:00:00'),
};
/** Over its closing time. */
const SLEEPER = { id: 'dev_07', from: at('2026-11-20T20:00:00'), to: at('2026-11-21T07:00:00') };
const BROKEN_LINE = 'dev_13';
const NEVER_SELLS = 'dev_21';
const LOSES_ANSWERS = 'dev_33';

let rig: WatchRig;

beforeAll(async () => {
  rig = await WatchRig.start(START);
});

afterAll(() => rig?.stop());

test('two days of fifty registers under two relays', async () => {
  for (let index = 0; index < REGISTERS; index += 1) await rig.addDevice(`dev_${String(index).padStart(2, '0')}`);
  const relays = [rig.relay(), rig.relay()];
  const end = at('2026-11-22T06:00:00');
  for (let step = 0; rig.time.nowMs <= end; step += 1) {
    setTheScene();
    await sellSome(step);
    await rig.work(...relays);
    rig.time.nowMs += STEP_MS;
  }
  await everyShiftClosedOnce();
  await everyAlarmOnce();
  await nothingLost();
}, 900_000);

function setTheScene(): void {
  const { nowMs } = rig.time;
  for (const [id, register] of rig.registers) {
    const until = id === BROKEN_LINE ? OFD_DOWN.longerTo : OFD_DOWN.to;
    register.ofdDown = nowMs >= OFD_DOWN.from && nowMs < until;
    register.asleep = id === SLEEPER.id && nowMs >= SLEEPER.from && nowMs < SLEEPER.to;
    if (id === LOSES_ANSWERS) register.losesCloseAnswer = true;
  }
}

/** From eight to eight, every register about once in two hours. */
async function sellSome(step: number): Promise<void> {
  const hour = (Math.floor(rig.time.nowMs / 3_600_000) + 5) % 24;
  if (hour < 8 || hour >= 20) return;
  for (const [index, id] of [...rig.registers.keys()].entries())
    if ((index + step) % 4 === 0 && id !== NEVER_SELLS) await rig.sell(id, 100_000 + 1_000 * index);
}

async function everyShiftClosedOnce(): Promise<void> {
  for (const [id, register] of rig.registers) {
    expect([id, register.zReports.length]).toEqual([id, id === NEVER_SELLS ? 0 : 2]);
    expect([id, register.calls.filter((call) => call === 'close').length]).toEqual([id, register.zReports.length]);
    const closes = register.zReports.map(({ Header }) => Header.CloseTime.slice(0, 10));
    // In the step after 23:50, midnight; the sleeper's first one in the morning.
    const expected = ['2026-11-21', '2026-11-22'];
    if (id !== NEVER_SELLS) expect([id, closes]).toEqual([id, expected]);
  }
  const shifts = (REGISTERS - 1) * 2;
  expect(await rig.types('shift.opened')).toHaveLength(shifts);
  expect(await rig.types('shift.closed')).toHaveLength(shifts);
  expect(await rig.types('zreport.difference')).toEqual([]);
  expect(await rig.one('SELECT count(*)::int AS n FROM z_reports WHERE own IS NULL OR difference IS NOT NULL')).toEqual(
    {
      n: 0,
    },
  );
}

async function everyAlarmOnce(): Promise<void> {
  for (const [name, hours] of [
    ['ofd_deadline_warning', 24],
    ['ofd_deadline_alarm', 40],
  ] as const) {
    const { late, justInTime } = await lateReceipts(hours);
    const subjects = (await rig.events(`receipt.${name}`)).map(({ subject }) => subject);
    expect(new Set(subjects).size).toBe(subjects.length);
    expect(subjects.filter((id) => !justInTime.includes(id)).sort()).toEqual(late);
    expect(late.length).toBeGreaterThan(0);
  }
  const states = (await rig.events('device.%')).map(({ type, subject }) => `${subject} ${type}`);
  expect(states.filter((line) => line.startsWith(SLEEPER.id)).slice(0, 2)).toEqual([
    `${SLEEPER.id} device.unreachable`,
    expect.stringMatching(/device\.(online|degraded)$/),
  ]);
  expect(states.filter((line) => line.startsWith(BROKEN_LINE))).toEqual([
    `${BROKEN_LINE} device.degraded`,
    `${BROKEN_LINE} device.online`,
  ]);
}

/** Sent after this many hours; or at that very moment, when either may be first. */
async function lateReceipts(hours: number): Promise<{ late: string[]; justInTime: string[] }> {
  const { rows } = await rig.sql.query<{ id: string; is_late: boolean }>(
    `SELECT id, ofd_sent_at - registered_at > make_interval(hours => $1) AS is_late FROM receipts
      WHERE ofd_sent_at - registered_at >= make_interval(hours => $1) ORDER BY id`,
    [hours],
  );
  const idsOf = (isLate: boolean): string[] => rows.filter((row) => row.is_late === isLate).map(({ id }) => id);
  return { late: idsOf(true), justInTime: idsOf(false) };
}

async function nothingLost(): Promise<void> {
  const sold = await rig.one<{ n: number; sent: number }>(
    `SELECT count(*)::int AS n, count(*) FILTER (WHERE ofd_status = 'sent')::int AS sent FROM receipts`,
  );
  expect(sold.n).toBeGreaterThan(500);
  expect(sold.sent).toBe(sold.n);
  for (const register of rig.registers.values()) {
    expect(register.unsentCount).toBe(0);
    expect(register.unsentZCount).toBe(0);
  }
  const subjects = (await rig.events('receipt.ofd_sent')).map(({ subject }) => subject);
  expect(new Set(subjects).size).toBe(subjects.length);
  const { n } = await rig.one<{ n: number }>(
    'SELECT count(*)::int AS n FROM receipts WHERE ofd_sent_at > registered_at',
  );
  expect(subjects).toHaveLength(n);
  expect(await rig.one(`SELECT count(*)::int AS n FROM z_reports WHERE ofd_status <> 'sent'`)).toEqual({ n: 0 });
  expect(await rig.one(`SELECT count(*)::int AS n FROM devices WHERE state <> 'online'`)).toEqual({ n: 0 });
}
