// Two attempts to pay one order, in whatever order their calls arrive: the order is paid once, the other attempt is answered so, and what it was charged goes back.
import { randomUUID } from 'node:crypto';
import { ExtraChargeKeeper } from '../../apps/gateway/src/payments/extra-charges/extra-charge-keeper.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { octoBody, post } from './kit/callers.js';
import { anId, askPayme, click, multicard, verdictOf } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

/** Below the deadline of a test. */
const ASKED_AGAIN_MS = 170_000;

const fixture = paymentsFixture();

type Who = 'a' | 'b';

/** Every order in which the calls of two attempts can arrive, each attempt's own in order. */
function interleavings(a: number, b: number): Who[][] {
  if (a === 0) return [Array<Who>(b).fill('b')];
  if (b === 0) return [Array<Who>(a).fill('a')];
  return [
    ...interleavings(a - 1, b).map((rest): Who[] => ['a', ...rest]),
    ...interleavings(a, b - 1).map((rest): Who[] => ['b', ...rest]),
  ];
}

const CALLS = 3;
const ORDERS = interleavings(CALLS, CALLS).map((calls) => ({ name: calls.join(''), calls }));

interface ExtraChargeRow {
  provider_ref: string;
  state: string;
}

function extraChargesOf(paymentId: string): Promise<ExtraChargeRow[]> {
  return fixture.gateway.prisma.$queryRaw<ExtraChargeRow[]>`
    SELECT provider_ref, state FROM extra_charges WHERE payment_id = ${paymentId} ORDER BY id`;
}

/** Paid once, registered once. */
async function expectPaidOnce(id: string): Promise<void> {
  const view = await fixture.until(id, { status: 'captured', receipt: 'registered' });
  expect(view.refunds).toEqual([]);
  const events = await fixture.events(id);
  expect(events.filter((type) => type === 'payment.captured')).toHaveLength(1);
}

let lastNumber = Date.now() * 10;
const aNumber = (): string => String((lastNumber += 1));

describe.each([
  ['inbound', { provider: 'click' }],
  ['invoice', { provider: 'click', phone: '998901234567' }],
])('Click, %s', (_flow, payment) => {
  it.each(ORDERS)('$name', async ({ calls }) => {
    const { body } = await fixture.pay(payment, { prefer: 'wait=0' });
    await fixture.until(body.id, { status: 'pending' });
    const attempts = { a: aNumber(), b: aNumber() };
    const prepareIds: Partial<Record<Who, string>> = {};
    const completed: { who: Who; error: unknown }[] = [];
    for (const who of calls) {
      const trans = { click_trans_id: attempts[who] };
      const prepareId = prepareIds[who];
      if (prepareId === undefined) {
        const answer = await click(fixture, body.id, trans);
        prepareIds[who] = String(Number(answer['merchant_prepare_id']));
        // After the other one has paid there is nothing to prepare.
        expect(answer['error']).toBe(completed.length > 0 ? -4 : 0);
        continue;
      }
      const answer = await click(fixture, body.id, { ...trans, action: '1', merchant_prepare_id: prepareId });
      completed.push({ who, error: answer['error'] });
    }
    if (prepareIds.a !== '0' && prepareIds.b !== '0') expect(prepareIds.a).not.toBe(prepareIds.b);
    const [first, ...later] = completed;
    expect(first?.error).toBe(0);
    expect(later.map(({ error }) => error)).toEqual(later.map(() => -4));
    await expectPaidOnce(body.id);
    const other = first?.who === 'a' ? 'b' : 'a';
    expect((await fixture.read(body.id)).extra_info?.payment_id).toBe(`7${attempts[first?.who ?? 'a']}`);
    expect(await extraChargesOf(body.id)).toMatchObject([{ provider_ref: `7${attempts[other]}`, state: 'reported' }]);
    expect(await fixture.disagreement(body.id)).toMatchObject({ kind: 'charged_twice' });
  });

  it('an attempt that is cancelled leaves the other one’s order reserved', async () => {
    const { body } = await fixture.pay(payment, { prefer: 'wait=0' });
    await fixture.until(body.id, { status: 'pending' });
    const [a, b] = [{ click_trans_id: aNumber() }, { click_trans_id: aNumber() }];
    const ofA = await click(fixture, body.id, a);
    const ofB = await click(fixture, body.id, b);
    const failed = { ...b, action: '1', merchant_prepare_id: String(ofB['merchant_prepare_id']), error: '-5017' };
    expect(await click(fixture, body.id, failed)).toMatchObject({ error: -9 });
    expect(await fixture.read(body.id)).toMatchObject({ status: 'reserved' });
    const done = { ...a, action: '1', merchant_prepare_id: String(ofA['merchant_prepare_id']) };
    expect(await click(fixture, body.id, done)).toMatchObject({ error: 0 });
    await expectPaidOnce(body.id);
    expect(await extraChargesOf(body.id)).toEqual([]);
  });
});

describe.each([
  ['charge', { provider: 'click', token: 'token-0001' }],
  ['hold', { provider: 'click', qr_code: 'otp-of-a-wallet' }],
])('Click, %s', (_flow, payment) => {
  it('calls of the SHOP API about an order that we charge ourselves change nothing of it', async () => {
    const { body } = await fixture.pay(payment);
    await expectPaidOnce(body.id);
    const trans = { click_trans_id: aNumber() };
    expect(await click(fixture, body.id, trans)).toMatchObject({ error: -9 });
    const done = { ...trans, action: '1', merchant_prepare_id: '1' };
    expect(await click(fixture, body.id, done)).toMatchObject({ error: -6 });
    await expectPaidOnce(body.id);
    expect(await extraChargesOf(body.id)).toEqual([]);
  });
});

describe('Payme', () => {
  it.each(ORDERS)('$name', async ({ calls }) => {
    const { body } = await fixture.pay({ provider: 'payme' });
    const account = { order_id: body.id };
    const attempts = { a: anId(), b: anId() };
    const created: Partial<Record<Who, unknown>> = {};
    const performed: { who: Who; verdict: unknown }[] = [];
    for (const who of calls) {
      const id = attempts[who];
      if (created[who] === undefined) {
        const answer = await askPayme(fixture, 'CreateTransaction', { id, time: Date.now(), amount: PRICE, account });
        created[who] = verdictOf(answer);
      } else performed.push({ who, verdict: verdictOf(await askPayme(fixture, 'PerformTransaction', { id })) });
    }
    const payer = calls[0] ?? 'a';
    const other = payer === 'a' ? 'b' : 'a';
    expect(created).toEqual({ [payer]: 1, [other]: -31008 });
    const expected = performed.map(({ who }) => ({ who, verdict: who === payer ? 2 : -31003 }));
    expect(performed).toEqual(expected);
    await expectPaidOnce(body.id);
    expect(await extraChargesOf(body.id)).toEqual([]);
  });
});

describe('Multicard', () => {
  it.each(ORDERS)('$name', async ({ calls }) => {
    const { body } = await fixture.pay({ provider: 'multicard' });
    const [invoice] = await fixture.simulated(body.id);
    const uuids = { a: invoice?.id ?? '', b: randomUUID() };
    const verdicts: [Who, unknown][] = [];
    for (const who of calls) verdicts.push([who, await multicard(fixture, { uuid: uuids[who], orderId: body.id })]);
    await fixture.atProvider(body.id, { status: 'captured' });
    // The invoice's own uuid is kept, every other charge is given back by the answer itself.
    expect(verdicts).toEqual(calls.map((who) => [who, [200, who === 'a']]));
    await expectPaidOnce(body.id);
  });
});

describe('money that was taken beyond', () => {
  // Charges that earlier tests left due would meet the faults of these.
  beforeEach(() => fixture.gateway.prisma.$executeRaw`DELETE FROM extra_charges`);

  /** Paid by one attempt on Click's page, and charged again by another one. */
  async function chargedTwice(): Promise<{ id: string; paid: string; extra: string }> {
    const { body } = await pressedTwice();
    const view = await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    const charges = await fixture.simulated(body.id);
    expect(charges.map(({ captures }) => captures)).toEqual([1, 1]);
    const paid = view.extra_info?.payment_id ?? '';
    return { id: body.id, paid, extra: charges.map(({ id }) => id).find((id) => id !== paid) ?? '' };
  }
  const urlOf = (action: { type: string; url?: string }): string => action.url ?? '';

  /** Both have to be prepared before one is completed: a busy machine may do the one after the other, and the second is refused then. */
  async function pressedTwice(): ReturnType<typeof fixture.pay> {
    for (let tries = 0; tries < 20; tries += 1) {
      const payment = await fixture.pay({ provider: 'click' });
      const pressed = await Promise.all([1, 2].map(() => fixture.press(urlOf(payment.body.next_action))));
      if (pressed.every((page) => page.includes('<h1>Paid</h1>'))) return payment;
    }
    throw new Error('in twenty payments no order was charged twice');
  }

  /** As if the pause before the next status read were over. */
  async function readNow(id: string): Promise<void> {
    await fixture.gateway.prisma.$executeRaw`
      UPDATE extra_charges SET due_at = now() WHERE payment_id = ${id} AND due_at IS NOT NULL`;
    await fixture.gateway.app.get(ExtraChargeKeeper, { strict: false }).workOffDue();
  }

  async function untilState(id: string, state: string): Promise<void> {
    const read = async (): Promise<ExtraChargeRow[]> => {
      await readNow(id);
      return extraChargesOf(id);
    };
    await until(`the extra charge is ${state}`, read, (rows) => rows.some((row) => row.state === state));
  }

  it('is shown, refunded once, and the payment that was taken stays', async () => {
    const { id, paid, extra } = await chargedTwice();
    const shown = await fixture.disagreement(id);
    expect(shown).toMatchObject({ kind: 'charged_twice', status: 'captured' });
    expect((await fixture.read(id)).extra_charges).toEqual([
      { provider_ref: extra, amount: PRICE, status: 'reported', reason: expect.stringContaining('-4') },
    ]);
    await untilState(id, 'refunded');
    const charges = await fixture.simulated(id);
    expect(charges.find((each) => each.id === extra)).toMatchObject({ captures: 1, refunds: 1 });
    expect(charges.find((each) => each.id === paid)).toMatchObject({ captures: 1, refunds: 0 });
    expect(await fixture.disagreement(id)).toBeUndefined();
    expect(await fixture.read(id)).toMatchObject({ status: 'captured', refunded: 0 });
  });

  it.each(['drop_before', 'drop_after', 'error_before', 'error_after', 'malformed'])(
    'goes back exactly once when its refund is struck by %s',
    async (fault) => {
      const { id, extra } = await chargedTwice();
      // Three requests read its status and which payment Click names by our reference, the fourth asks it back.
      await fixture.faults({ fault: 'delay', next: 3, delay_ms: 1 }, { fault, next: 1 });
      await readNow(id);
      await fixture.faults();
      await fixture.gateway.prisma.$executeRaw`
        UPDATE extra_charges SET called_at = now() - interval '1 hour' WHERE payment_id = ${id}`;
      await untilState(id, 'refunded');
      const charges = await fixture.simulated(id);
      expect(charges.find((each) => each.id === extra)).toMatchObject({ captures: 1, refunds: 1 });
    },
  );

  it('is left to a person where Click names the payments of this order by another kind of number', async () => {
    const { id, extra } = await chargedTwice();
    const { prisma } = fixture.gateway;
    // As if the callbacks' number were not the Merchant API's: there it would be the payment of another order.
    const { body: other } = await fixture.pay({ provider: 'click', token: 'token-0001' });
    const [foreign] = await fixture.simulated(other.id);
    await prisma.$executeRaw`UPDATE extra_charges SET provider_ref = ${foreign?.id ?? ''} WHERE payment_id = ${id}`;
    await prisma.$executeRaw`UPDATE payments SET provider_ref = '1' WHERE id = ${id}`;
    await untilState(id, 'manual');
    expect(await fixture.simulated(other.id)).toMatchObject([{ captures: 1, refunds: 0 }]);
    expect((await fixture.simulated(id)).find((each) => each.id === extra)).toMatchObject({ refunds: 0 });
  });

  it('that the provider gave back itself is asked for no more', async () => {
    const { id, extra } = await chargedTwice();
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ status: 'declined' }) };
    await (await fetch(`${fixture.simulatorUrl}/payments/${extra}`, init)).arrayBuffer();
    await untilState(id, 'absent');
    expect(await fixture.disagreement(id)).toBeUndefined();
  });

  it('that cannot go back is a person’s: shown until it is ended with a reason', async () => {
    const { id, extra } = await chargedTwice();
    await fixture.gateway.prisma.$executeRaw`
      UPDATE extra_charges SET refund_calls = 5 WHERE payment_id = ${id}`;
    await untilState(id, 'manual');
    expect(await fixture.disagreement(id)).toMatchObject({ kind: 'charged_twice' });
    const path = `/v1/operator/payments/${id}/extra-charges`;
    const said = { provider_ref: extra, outcome: 'refunded', reason: 'given back in the cabinet' };
    expect((await fixture.ask('POST', path, { ...said, provider_ref: 'other' })).status).toBe(404);
    expect((await fixture.ask('POST', path, said)).status).toBeLessThan(300);
    expect(await extraChargesOf(id)).toMatchObject([{ state: 'refunded' }]);
    expect(await fixture.disagreement(id)).toBeUndefined();
  });
});

describe('a notification whose signature does not cover our reference', () => {
  async function paid(): Promise<{ id: string; ref: string }> {
    const { body } = await fixture.pay({ provider: 'octo' });
    await fixture.payOnPage(body);
    // A question that a busy machine lets time out is asked again after half a minute, then later.
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' }, ASKED_AGAIN_MS);
    const [known] = await fixture.simulated(body.id);
    return { id: body.id, ref: known?.id ?? '' };
  }

  it('of one payment, sent with the reference of another: no extra charge of that one', async () => {
    const [one, other] = [await paid(), await paid()];
    const url = fixture.accounts.octo?.url ?? '';
    expect((await post(url, octoBody(other.ref, one.id))()).status).toBe(200);
    expect(await extraChargesOf(one.id)).toEqual([]);
    expect(await extraChargesOf(other.id)).toEqual([]);
  });

  it('that was written down as an extra charge before its payment was known here is a person’s, and is not given back', async () => {
    const [one, other] = [await paid(), await paid()];
    await fixture.gateway.prisma.$executeRaw`
      INSERT INTO extra_charges (account_id, payment_id, provider_ref, amount_tiyin, reason, due_at)
      SELECT account_id, id, ${other.ref}, ${PRICE}::int8, 'a test', now() FROM payments WHERE id = ${one.id}`;
    const ended = await until(
      'it is decided',
      async () => {
        await fixture.gateway.app.get(ExtraChargeKeeper).workOffDue();
        return extraChargesOf(one.id);
      },
      ([charge]) => charge?.state !== 'reported',
    );
    expect(ended).toEqual([{ provider_ref: other.ref, state: 'manual' }]);
    expect(await fixture.simulated(other.id)).toMatchObject([{ refunds: 0 }]);
  });
});
