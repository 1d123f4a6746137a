// Promise: each busy shift is closed once at its time, an empty one never, and its Z-report is kept and compared.
import type { Watch } from '../watch.js';
import type { ShopRegister } from '../testing/shop-register.js';
import { WatchRig } from '../testing/watch-rig.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
let rig: WatchRig;
let relay: Watch;

beforeAll(async () => {
  rig = await WatchRig.start('2026-11-20T10:00:00+05:00');
});

afterAll(() => rig?.stop());

beforeEach(async () => {
  rig.time.nowMs = Date.parse('2026-11-20T10:00:00+05:00');
  await rig.clear();
  await rig.sql.query(`UPDATE merchants SET settings = '{}'`);
  relay = rig.relay();
});

async function at(time: string): Promise<void> {
  rig.time.nowMs = Date.parse(`${time}+05:00`);
  await rig.sql.query('UPDATE devices SET poll_due_at = NULL');
  await rig.work(relay);
}

/** What a gateway asks of the relay. */
function shiftTasks(): (kind: string, deviceId?: string) => Promise<unknown> {
  const tasks = new Map<
    string,
    (task: { id: string; deviceId: string; params: unknown; actor: string }) => Promise<unknown>
  >();
  const handlers = {
    add: ({ kind, run }: { kind: string; run: (task: never) => Promise<unknown> }) => tasks.set(kind, run as never),
  };
  relay.shiftTasks.addTo(handlers as never);
  return (kind, deviceId = 'dev_1') => tasks.get(kind)!({ id: 'tsk_1', deviceId, params: {}, actor: 'cli_1' });
}

test('closed at its time, Z-report kept, equal to what the gateway sold', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1', 112_000);
  await rig.sell('dev_1', 56_000);
  await at('2026-11-20T23:49:00');
  expect(register.shift?.closedMs).toBeNull();
  await at('2026-11-20T23:50:00');
  expect(register.zReports).toHaveLength(1);
  const z = await rig.one('SELECT s.number, s.closed_at, z.* FROM shifts s JOIN z_reports z ON z.shift_id = s.id');
  expect(z).toMatchObject({
    ...{ number: 1, closed_at: new Date('2026-11-20T23:50:00+05:00'), ofd_status: 'sent', difference: null },
    totals: { TotalSaleCash: 168_000, TotalSaleCount: 2 },
    own: { saleCash: 168_000, saleCount: 2, refundCount: 0 },
  });
  expect(await rig.types()).toEqual(['shift.opened', 'shift.closed', 'zreport.sent']);
  const [opened, closed] = await rig.events('shift.%');
  expect(opened?.data['opened_at']).toMatch(/^2026-11-\d\dT\d\d:\d\d:\d\d\.000Z$/);
  expect(closed?.data['closed_at']).toBe('2026-11-20T18:50:00.000Z');
  expect(await rig.device('dev_1')).toMatchObject({ close_due_at: null, reading: { shift: { number: 1 } } });
  await at('2026-11-21T23:50:00');
  expect(register.zReports).toHaveLength(1);
});

test("the device's own time before the merchant's before the setting", async () => {
  for (const [id, closeAt] of [
    ['dev_1', '00:00'],
    ['dev_2', null],
    ['dev_3', null],
  ] as const)
    await rig.addDevice(id, { closeAt });
  await rig.sql.query(`UPDATE merchants SET settings = '{"time_of_close": "20:00"}'`);
  await rig.sell('dev_1');
  await rig.sell('dev_2');
  await at('2026-11-20T20:00:00');
  expect(rig.registerOf('dev_2').zReports).toHaveLength(1);
  expect(rig.registerOf('dev_1').zReports).toHaveLength(0);
  await at('2026-11-21T00:00:00');
  expect(rig.registerOf('dev_1').zReports).toHaveLength(1);
  await rig.sql.query(`UPDATE merchants SET settings = '{"time_of_close": null}'`);
  await rig.sell('dev_3');
  await at('2026-11-21T23:50:00');
  expect(rig.registerOf('dev_3').zReports).toHaveLength(1);
});

test('never an empty one, and not a minute after its first sale of the next day', async () => {
  const register = await rig.addDevice('dev_1');
  register.open();
  await at('2026-11-20T10:01:00');
  await at('2026-11-20T23:55:00');
  await rig.sell('dev_1');
  await at('2026-11-21T09:00:00');
  expect(register.calls).not.toContain('close');
  await at('2026-11-21T23:50:00');
  expect(register.zReports).toHaveLength(1);
});

test('a shift of nothing but advances is closed as well: its totals are zero, its documents are not', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.advance('dev_1');
  await at('2026-11-20T10:01:00');
  await at('2026-11-20T23:50:00');
  expect(register.zReports).toHaveLength(1);
  expect(await rig.device('dev_1')).toMatchObject({ close_due_at: null });
});

test('a register that slept over its time is closed when it answers again', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1');
  await at('2026-11-20T20:00:00');
  register.asleep = true;
  for (let minute = 0; minute < 40; minute += 10) await at(`2026-11-20T23:${20 + minute}:00`);
  expect(await rig.device('dev_1')).toMatchObject({ state: 'unreachable' });
  register.asleep = false;
  await at('2026-11-21T08:00:00');
  expect(register.zReports).toHaveLength(1);
  expect(await rig.device('dev_1')).toMatchObject({ state: 'online', close_due_at: null });
});

test('two relays at once, a hundred devices at the same minute: each closed once', async () => {
  for (let index = 0; index < 100; index += 1) {
    await rig.addDevice(`dev_${index}`);
    await rig.sell(`dev_${index}`);
  }
  const other = rig.relay();
  await rig.work(relay, other);
  rig.time.nowMs = Date.parse('2026-11-20T23:50:01+05:00');
  for (let round = 0; round < 4; round += 1) await rig.work(relay, other);
  for (const register of rig.registers.values()) {
    expect(register.zReports).toHaveLength(1);
    expect(register.calls.filter((call) => call === 'close')).toHaveLength(1);
  }
  expect(await rig.types('shift.closed')).toHaveLength(100);
  expect(await rig.types('zreport.%')).toHaveLength(100);
});

test('a close whose answer was lost is found by reading, not repeated', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1');
  await at('2026-11-20T10:01:00');
  register.losesCloseAnswer = true;
  await at('2026-11-20T23:50:00');
  await at('2026-11-20T23:55:00');
  expect(register.calls.filter((call) => call === 'close')).toHaveLength(1);
  expect(await rig.types()).toEqual(['shift.opened', 'shift.closed', 'zreport.sent']);
});

describe('what has changed by the time a shift is closed', () => {
  const NIGHT = '2026-11-20T23:50:00+05:00';
  const closes = (): number => rig.registerOf('dev_1').calls.filter((call) => call === 'close').length;

  /** It has sold, and its shift is due. */
  async function due(): Promise<ShopRegister> {
    const register = await rig.addDevice('dev_1');
    await rig.sell('dev_1');
    await at('2026-11-20T23:49:30');
    rig.time.nowMs = Date.parse(NIGHT);
    return register;
  }
  async function keep(): Promise<void> {
    await relay.keeper.poll();
    await relay.keeper.settle();
  }

  test('its end, unseen, and the first sale of the next: that one stays open', async () => {
    const register = await due();
    register.losesCloseAnswer = true;
    const close = register.closeShift.bind(register);
    register.closeShift = async () => {
      const answer = await close();
      register.asleep = true;
      return answer;
    };
    await keep();
    expect(closes()).toBe(1);
    register.asleep = false;
    rig.time.nowMs += 40_000;
    await rig.sell('dev_1');
    rig.time.nowMs = Date.parse(NIGHT) + MINUTE;
    await keep();
    expect(closes()).toBe(1);
    expect(register.shift).toMatchObject({ number: 2, closedMs: null });
    expect(await rig.device('dev_1')).toMatchObject({ close_due_at: new Date(Date.parse(NIGHT) + 24 * HOUR) });
  });

  test('its end, of which every answer was lost: read at once, with its Z-report', async () => {
    const register = await due();
    register.losesCloseAnswer = true;
    const read = register.currentZReport.bind(register);
    register.currentZReport = () => {
      if (closes() === 0) return read();
      register.currentZReport = read;
      return Promise.resolve({ kind: 'unreachable', reason: 'the line is gone' });
    };
    await keep();
    expect(await rig.types('shift.closed')).toEqual(['shift.closed']);
    expect(await rig.one('SELECT totals FROM z_reports')).toMatchObject({ totals: { TotalSaleCount: 1 } });
    expect(closes()).toBe(1);
  });

  test('nothing: what did not work is tried again after a pause', async () => {
    const register = await due();
    const read = register.currentZReport.bind(register);
    register.currentZReport = () => {
      register.currentZReport = read;
      return Promise.resolve({ kind: 'unreachable', reason: 'the line is gone' });
    };
    await keep();
    expect(closes()).toBe(0);
    expect(await rig.device('dev_1')).toMatchObject({ close_due_at: new Date(Date.parse(NIGHT) + MINUTE) });
    rig.time.nowMs += MINUTE;
    await keep();
    expect(register.zReports).toHaveLength(1);
  });

  test.each(['disabled', 'claimed_elsewhere', 'replaced'])('the device, which is %s: it stays open', async (state) => {
    const register = await due();
    await rig.sql.query('UPDATE devices SET state = $1::device_state', [state]);
    expect(await shiftTasks()('shift_close')).toMatchObject({
      kind: 'failed',
      code: 'unreachable',
      detail: `the device is ${state}`,
    });
    expect([closes(), register.shift?.closedMs]).toEqual([0, null]);
  });

  test('the lock of its lane, which is lost: it stays open', async () => {
    const register = await due();
    const read = register.currentZReport.bind(register);
    register.currentZReport = () => {
      rig.hasLostLocks = true;
      return read();
    };
    await keep();
    expect([closes(), register.shift?.closedMs]).toEqual([0, null]);
  });
});

test('closed by a relay that died before it wrote it: the next poll writes it', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1');
  await at('2026-11-20T10:01:00');
  rig.time.nowMs = Date.parse('2026-11-20T23:50:00+05:00');
  await register.closeShift();
  await rig.work(relay);
  expect(register.calls.filter((call) => call === 'close')).toHaveLength(1);
  expect(await rig.types()).toEqual(['shift.opened', 'shift.closed', 'zreport.sent']);
});

test('a shift whose end was not seen is closed without a Z-report when the next one is seen', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1');
  await at('2026-11-20T10:01:00');
  await register.closeShift();
  rig.time.nowMs += HOUR;
  await rig.sell('dev_1');
  await at('2026-11-20T12:00:00');
  const { rows } = await rig.sql.query('SELECT number, closed_at IS NOT NULL AS closed FROM shifts ORDER BY number');
  expect(rows).toEqual([
    { number: 1, closed: true },
    { number: 2, closed: false },
  ]);
  expect(await rig.types()).toEqual(['shift.opened', 'shift.opened', 'shift.closed']);
});

test('a difference is an event on an exclusive register, a remark on a shared one', async () => {
  await rig.addDevice('dev_1');
  await rig.addDevice('dev_2', { profile: { sharing: 'shared' } });
  for (const id of ['dev_1', 'dev_2']) {
    await rig.sell(id);
    rig.registerOf(id).sell(5_000); // by a cashier, the gateway knows nothing of it
  }
  await at('2026-11-20T10:01:00');
  await at('2026-11-20T23:50:00');
  const { rows } = await rig.sql.query<{ device_id: string; difference: { kind: string } }>(
    'SELECT s.device_id, z.difference FROM z_reports z JOIN shifts s ON s.id = z.shift_id ORDER BY 1',
  );
  const sums = { saleCash: 5_000, saleVat: 536, saleCount: 1 };
  expect(rows.map(({ difference }) => difference)).toEqual([
    { kind: 'different', sums, unknownReceipts: 0 },
    { kind: 'foreign_sales', sums, unknownReceipts: 0 },
  ]);
  const differences = await rig.events('zreport.difference');
  expect(differences.map(({ data }) => data['device_id'])).toEqual(['dev_1']);
});

test('while a receipt is not resolved nothing is closed, and nothing is compared', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1');
  const open = await rig.accept('dev_1');
  await rig.sql.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
     VALUES ('att_1', $1, 'dev_1', 1, 'open', '{}', '\\x00', 'rly_1')`,
    [open],
  );
  await at('2026-11-20T10:01:00');
  await at('2026-11-20T23:50:00');
  expect(register.calls).not.toContain('close');
  await register.closeShift(); // a cashier does
  await at('2026-11-21T00:05:00');
  expect(await rig.one('SELECT own FROM z_reports')).toEqual({ own: null });
  await rig.sql.query(`UPDATE attempts SET state = 'not_registered'`);
  await at('2026-11-21T00:06:00');
  expect(await rig.one('SELECT own, difference FROM z_reports')).toMatchObject({
    own: { saleCount: 1 },
    difference: null,
  });
});

test('a Z-report that the OFD did not take is published, sent later, published again', async () => {
  const register = await rig.addDevice('dev_1');
  await rig.sell('dev_1');
  await at('2026-11-20T10:01:00');
  register.ofdDown = true;
  await at('2026-11-20T23:50:00');
  expect(await rig.types('zreport.%')).toEqual(['zreport.unsent']);
  register.ofdDown = false;
  await at('2026-11-21T02:00:00');
  await at('2026-11-21T04:00:00');
  expect(await rig.types('zreport.%')).toEqual(['zreport.unsent', 'zreport.sent']);
  expect(register.unsentZCount).toBe(0);
  expect(await rig.one('SELECT ofd_status FROM z_reports')).toEqual({ ofd_status: 'sent' });
});

test('tasks: status, open, close; each answers by what the register says', async () => {
  const register = await rig.addDevice('dev_1');
  const run = shiftTasks();
  expect(await run('shift_status')).toEqual({ kind: 'ok', value: { shift: null, totals: null } });
  expect(await run('shift_close')).toMatchObject({ kind: 'failed', code: 'F-002' });
  expect(await run('shift_open')).toMatchObject({ kind: 'ok', value: { shift: { number: 1, closedAt: null } } });
  expect(await run('shift_open')).toMatchObject({ kind: 'ok', value: { shift: { number: 1, closedAt: null } } });
  expect(await run('shift_close')).toMatchObject({ kind: 'failed', code: 'F-005' });
  expect(register.calls).not.toContain('close');
  await rig.sell('dev_1');
  expect(await run('shift_close')).toMatchObject({ kind: 'ok', value: { totals: { TotalSaleCount: 1 } } });
  expect(await rig.types('shift.%')).toEqual(['shift.opened', 'shift.closed']);
  register.asleep = true;
  expect(await run('shift_status')).toMatchObject({ kind: 'failed', code: 'unreachable' });
  expect(await run('shift_open', 'dev_none')).toMatchObject({ kind: 'failed', code: 'expired' });
});
