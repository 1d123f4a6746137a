// A provider's call moves nothing that is not so: forged, replayed, late and reordered ones leave money and receipt agreeing.
import { newId } from '#runtime';
import { until } from '../../libs/runtime/src/testing/until.js';
import { violationsOf } from '../../libs/payments/src/testing/provider-schemas.js';
import { CALL_FAULTS, CALLERS, type ProviderCaller } from './kit/callers.js';
import { FIRST_CALLERS } from './kit/first-callers.js';
import { PAYNET_AND_ATMOS } from './kit/pageless-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();
const DAY_MS = 86_400_000;
/** Without money, or closed here while the provider has no word for an order that was never paid: what still came there would go back. */
const CLOSED = ['expired', 'cancelled', 'voided', 'declined', 'void_unknown'];
const ALL = [...FIRST_CALLERS, ...CALLERS, ...PAYNET_AND_ATMOS];

describe.each(ALL.map((caller): [string, ProviderCaller] => [caller.name, caller]))('%s', (_name, caller) => {
  beforeAll(() => caller.choose?.(fixture));

  async function open(): Promise<{ id: string; press: () => Promise<unknown> }> {
    const { status, body } = await fixture.pay(caller.payment);
    const { id, next_action: action } = body;
    if (caller.press) expect([status, action.type]).not.toContain('redirect');
    else expect([status, action.type]).toEqual([202, 'redirect']);
    const press = (): Promise<unknown> =>
      caller.press?.(fixture, id) ?? fixture.press(action.type === 'redirect' ? action.url : '');
    return { id, press };
  }

  async function flowOf(id: string): Promise<string> {
    return (await fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id } })).flow;
  }

  async function capturesOf(id: string): Promise<number> {
    return (await fixture.simulated(id)).reduce((sum, { captures }) => sum + captures, 0);
  }

  /**
   * Waits until its status, which a call may lead to, was read twice. Where the provider drives there is none to read, and what waits
   * for its customer's code is not read: only our own call, with the code, takes its money.
   */
  async function untilRead(id: string): Promise<void> {
    const { prisma } = fixture.gateway;
    if ((await flowOf(id)) === 'inbound' || (await fixture.read(id)).next_action.type === 'otp') return;
    const reads = (): Promise<number> =>
      prisma.paymentCall.count({ where: { paymentId: id, call: 'read_status', finishedAt: { not: null } } });
    const before = await reads();
    await until('the status was read twice', reads, (count) => count >= before + 2);
  }

  it('is paid and registered once, whatever the order and number of its calls', async () => {
    for (const fault of CALL_FAULTS.filter((each) => caller.cannot?.[each] === undefined)) {
      const { id, press } = await open();
      await fixture.faults({ fault, next: 1 });
      await press();
      const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
      // A fault that struck no call would prove nothing.
      expect([fault, await fixture.faultsLeft()]).toEqual([fault, 0]);
      await fixture.untilQuiet();
      const [money] = (await fixture.simulated(id)).filter(({ captures }) => captures > 0);
      expect([fault, money?.captures, money?.refunds]).toEqual([fault, 1, 0]);
      expect(await fixture.refundsOf(receipt.id)).toEqual([]);
    }
  });

  it('a forged call changes nothing and is not kept', async () => {
    const { id } = await open();
    await fixture.untilQuiet();
    const before = [await fixture.kept(id), (await fixture.read(id)).status];
    for (const forged of caller.forged(fixture, id)) {
      const { status, body } = await forged();
      expect([caller.refusedStatus].flat()).toContain(status);
      const isRefused = caller.isRefused?.(body as Record<string, unknown>) ?? true;
      expect([JSON.stringify(body), isRefused]).toEqual([JSON.stringify(body), true]);
    }
    expect([await fixture.kept(id), (await fixture.read(id)).status]).toEqual(before);
  });

  it('a call about an order that is not there stores nothing', async () => {
    await fixture.untilQuiet();
    const id = newId('pay');
    const before = await fixture.kept(id);
    await caller.about(fixture, id, PRICE)();
    expect(await fixture.kept(id)).toBe(before);
  });

  it('a true call replayed when all is over changes nothing', async () => {
    const { id, press } = await open();
    await press();
    const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
    await caller.about(fixture, id, PRICE)();
    await caller.about(fixture, id, PRICE)();
    expect((await fixture.read(id)).status).toBe('captured');
    expect(await fixture.refundsOf(receipt.id)).toEqual([]);
    expect(await capturesOf(id)).toBe(1);
  });

  it('a well-made call with another sum pays nothing', async () => {
    const { id } = await open();
    for (const amount of [PRICE - 100, PRICE + 100, 100]) await caller.take(fixture, id, { amount, atMs: Date.now() });
    await untilRead(id);
    expect(await fixture.read(id)).toMatchObject({ status: 'pending', receipt: { status: 'awaiting_payment' } });
    expect(await capturesOf(id)).toBe(0);
    if ((await flowOf(id)) !== 'inbound') return;
    // The same calls with the order's own sum do.
    await caller.take(fixture, id, { amount: PRICE, atMs: Date.now() });
    await fixture.until(id, { status: 'captured', receipt: 'registered' });
  });

  it('a call after expires_at pays nothing', async () => {
    const { id } = await open();
    await fixture.untilQuiet();
    const { prisma } = fixture.gateway;
    await prisma.$executeRaw`UPDATE payments SET expires_at = now(), due_at = NULL WHERE id = ${id}`;
    await caller.take(fixture, id, { amount: PRICE, atMs: Date.now() });
    await prisma.$executeRaw`UPDATE payments SET due_at = now() WHERE id = ${id}`;
    await until(
      `payment ${id} is closed`,
      () => fixture.read(id),
      ({ status }) => CLOSED.includes(status),
    );
    // Nor does one that comes when it is closed.
    await caller.take(fixture, id, { amount: PRICE, atMs: Date.now() });
    const { status, receipt } = await fixture.read(id);
    expect(CLOSED).toContain(status);
    expect(receipt.status).toMatch(/^(awaiting_payment|cancelled)$/);
    expect(await capturesOf(id)).toBe(0);
  });

  it('a call whose clock is a day off pays as one whose clock is right', async () => {
    if (caller.openClock === undefined) return;
    for (const off of [-DAY_MS, DAY_MS]) {
      const { id } = await open();
      await caller.take(fixture, id, { amount: PRICE, atMs: Date.now() + off });
      await fixture.until(id, { status: 'captured', receipt: 'registered' });
    }
  });

  it('a call that says money was taken, where none was, moves nothing', async () => {
    const { id } = await open();
    await caller.lie(fixture, id)();
    await untilRead(id);
    expect((await fixture.read(id)).status).toBe('pending');
    expect((await fixture.read(id)).receipt.status).toBe('awaiting_payment');
  });

  it('its examples are of the published form', () => {
    for (const example of caller.examples()) expect(violationsOf(example)).toEqual([]);
  });
});
