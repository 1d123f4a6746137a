// Whatever stops a sale half-way, and in whatever state its receipt is then: money without a receipt goes back, a receipt without money is refunded, each once.
import { newId } from '#runtime';
import { until } from '../../libs/runtime/src/testing/until.js';
import { anId, askPayme, verdictOf } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const HOLD = { provider: 'multicard', token: 'token-0001' };
const CHARGE = { provider: 'click', token: 'token-0001' };

/** Its money is held or taken, and its receipt waits in its lane. */
async function waiting(payment: Record<string, unknown>) {
  fixture.register = 'sleeps';
  const { body } = await fixture.pay(payment, { prefer: 'wait=0' });
  expect(body.receipt.status).toBe('accepted');
  return body;
}

function receiptIs(id: string, status: string): Promise<number> {
  return fixture.gateway.prisma.$executeRaw`UPDATE receipts SET status = ${status}::receipt_status WHERE id = ${id}`;
}

describe('the receipt is cancelled while it waits', () => {
  it.each([
    ['held', HOLD, { status: 'voided', captures: 0 }],
    ['taken', CHARGE, { status: 'refunded', captures: 1, refunds: 1 }],
  ])('money that is %s goes back', async (_name, payment, money) => {
    const { id, receipt } = await waiting(payment);
    expect((await fixture.ask('POST', `/v1/receipts/${receipt.id}/cancel`)).status).toBe(200);
    await fixture.until(id, { status: money.status, receipt: 'cancelled' });
    expect(await fixture.simulated(id)).toMatchObject([money]);
  });

  it.each(['cancelled', 'registered', 'rejected', 'unknown'])(
    'its payment is due with the very commit that makes it %s',
    async (status) => {
      const { id, receipt } = await waiting({ ...HOLD, provider: 'payme' });
      const { prisma } = fixture.gateway;
      const [due] = await prisma.$transaction(async (tx) => {
        await tx.$executeRaw`UPDATE payments SET due_at = NULL WHERE id = ${id}`;
        if (status === 'registered')
          await tx.$executeRaw`
            UPDATE receipts SET status = 'registered', terminal_id = 'UZ000000000009', receipt_seq = 900009,
                                registered_at = now(), evidence = 'operator' WHERE id = ${receipt.id}`;
        else await tx.$executeRaw`UPDATE receipts SET status = ${status}::receipt_status WHERE id = ${receipt.id}`;
        return tx.$queryRaw<
          { is_due: boolean }[]
        >`SELECT due_at <= now() + interval '1 millisecond' AS is_due FROM payments WHERE id = ${id}`;
      });
      expect(due).toEqual({ is_due: true });
    },
  );
});

describe('the hold ends at the provider', () => {
  it.each([
    ['is released', 'voided'],
    ['has failed', 'declined'],
  ])('and %s there after the sale was registered: no money, and the receipt is refunded', async (_name, status) => {
    const { id, receipt } = await waiting(HOLD);
    await fixture.atProvider(id, { status });
    fixture.register = 'registers';
    await fixture.until(id, { status: 'voided', receipt: 'registered' });
    await fixture.untilRefunded(receipt.id);
    expect(await fixture.simulated(id)).toMatchObject([{ captures: 0 }]);
    expect(await fixture.disagreement(id)).toBeUndefined();
  });

  it('of an unknown receipt: the hold is released, and a proof that comes later is refunded', async () => {
    const { id, receipt } = await waiting(HOLD);
    await receiptIs(receipt.id, 'unknown');
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET hold_until = now() + interval '1 second', due_at = now() + interval '1 second' WHERE id = ${id}`;
    await fixture.until(id, { status: 'voided', receipt: 'unknown' });
    expect(await fixture.refundsOf(receipt.id)).toEqual([]);
    await fixture.registered(receipt.id);
    fixture.register = 'registers';
    await fixture.untilRefunded(receipt.id);
    expect(await fixture.simulated(id)).toMatchObject([{ status: 'voided', captures: 0 }]);
  });

  it('and its provider notifies of it while the receipt waits: it is never sent', async () => {
    const { id } = await waiting(HOLD);
    await fixture.atProvider(id, { status: 'voided' });
    expect(await fixture.webhook(id)).toBe(200);
    await fixture.until(id, { status: 'voided', receipt: 'cancelled' });
  });

  it.each(['sending', 'unknown'])(
    'and its provider notifies of it while the receipt is %s: refunded once it proves registered',
    async (status) => {
      const { id, receipt } = await waiting(HOLD);
      await receiptIs(receipt.id, status);
      await fixture.atProvider(id, { status: 'voided' });
      await fixture.webhook(id);
      await fixture.until(id, { status: 'voided', receipt: status });
      expect(await fixture.refundsOf(receipt.id)).toEqual([]);
      await fixture.registered(receipt.id);
      fixture.register = 'registers';
      await fixture.untilRefunded(receipt.id);
    },
  );
});

describe('the provider takes back what it had given', () => {
  it.each([
    ['accepted', 'cancelled'],
    ['sending', 'sending'],
    ['unknown', 'unknown'],
  ])('while the receipt is %s', async (status, then) => {
    const { id, receipt } = await waiting({ provider: 'multicard', token: 'token-0001' });
    // Taken by its people before the receipt was there.
    await fixture.gateway.prisma.$executeRaw`UPDATE payments SET state = 'captured' WHERE id = ${id}`;
    await receiptIs(receipt.id, status);
    await fixture.atProvider(id, { status: 'captured' });
    await fixture.atProvider(id, { status: 'refunded' });
    await fixture.webhook(id);
    await fixture.until(id, { status: 'refunded', receipt: then });
    expect(await fixture.refundsOf(receipt.id)).toEqual([]);
    if (then === 'cancelled') return;
    await fixture.registered(receipt.id);
    fixture.register = 'registers';
    await fixture.untilRefunded(receipt.id);
  });

  it('of a receipt that the register refuses later: nothing is refunded', async () => {
    const { id, receipt } = await waiting(HOLD);
    await receiptIs(receipt.id, 'sending');
    await fixture.atProvider(id, { status: 'voided' });
    await fixture.webhook(id);
    await fixture.until(id, { status: 'voided', receipt: 'sending' });
    await receiptIs(receipt.id, 'rejected');
    await fixture.until(id, { status: 'voided', receipt: 'rejected' });
    expect(await fixture.refundsOf(receipt.id)).toEqual([]);
    expect(await fixture.disagreement(id)).toBeUndefined();
  });
});

describe('the merchant cancels while Payme has reserved', () => {
  const call = (method: string, params: unknown) => askPayme(fixture, method, params);

  it('so Payme may not take the money, however little the cancel has come along', async () => {
    const { body } = await fixture.pay({ provider: 'payme' });
    const order = { id: anId(), time: Date.now(), amount: PRICE, account: { order_id: body.id } };
    expect(verdictOf(await call('CreateTransaction', order))).toBe(1);
    // The wish is committed; the process that is to carry it out has died with the payment in hand.
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET cancel_requested_at = now(), lease_id = 'of a dead worker', lease_until = now() + interval '3 seconds',
                          due_at = now() WHERE id = ${body.id}`;
    expect(verdictOf(await call('PerformTransaction', { id: order.id }))).toBe(-31008);
    expect(verdictOf(await call('CheckTransaction', { id: order.id }))).toBe(1);
    await fixture.until(body.id, { status: 'cancelled', receipt: 'cancelled' });
    expect((await call('CheckTransaction', { id: order.id })).result).toMatchObject({ state: -1, reason: 4 });
    expect(verdictOf(await call('PerformTransaction', { id: order.id }))).toBe(-31008);
  });
});

describe('the reconciliation names, until it is mended,', () => {
  it('a call whose effect is unknown', async () => {
    await fixture.faults(
      { fault: 'drop_before', next: 1, path: '/card_token/payment' },
      { fault: 'error_before', next: 3, path: '/payment/status' },
    );
    const { body } = await fixture.pay(CHARGE);
    expect(await fixture.disagreement(body.id)).toMatchObject({
      ...{ kind: 'unknown', status: 'authorize_unknown', next_step: 'gateway: reads the status at the provider' },
      next_at: expect.any(String),
    });
    await fixture.until(body.id, { status: 'declined', receipt: 'cancelled' });
    expect(await fixture.disagreement(body.id)).toBeUndefined();
  });

  it('a receipt without its money', async () => {
    const { id, receipt } = await waiting(HOLD);
    await fixture.atProvider(id, { status: 'voided' });
    await fixture.registered(receipt.id);
    await fixture.until(id, { status: 'voided', receipt: 'registered' });
    expect(await fixture.disagreement(id)).toMatchObject({ kind: 'receipt_without_money', amount: PRICE });
    fixture.register = 'registers';
    await fixture.untilRefunded(receipt.id);
    expect(await fixture.disagreement(id)).toBeUndefined();
  });

  it('a receipt without its money whose refund the register refuses: a person has to go on', async () => {
    const { id, receipt } = await waiting(HOLD);
    await fixture.atProvider(id, { status: 'voided' });
    await fixture.registered(receipt.id);
    await fixture.until(id, { status: 'voided', receipt: 'registered' });
    fixture.register = 'rejects';
    const named = await until(
      'a person is named',
      () => fixture.disagreement(id),
      (found) => found?.next_at === null,
    );
    expect(named).toMatchObject({
      kind: 'receipt_without_money',
      next_step: expect.stringMatching(/^operator: refund the receipt at another register, or .* accepted/) as string,
    });
  });

  it('a sum that is to go back', async () => {
    const { body } = await fixture.pay(CHARGE);
    fixture.register = 'sleeps';
    await fixture.ask('POST', `/v1/receipts/${body.receipt.id}/refunds`, {}, { prefer: 'wait=0' });
    expect(await fixture.disagreement(body.id)).toMatchObject({ kind: 'refund_open', status: 'captured' });
    fixture.register = 'registers';
    await fixture.until(body.id, { status: 'refunded' });
    expect(await fixture.disagreement(body.id)).toBeUndefined();
  });
});

it('lets a hold go that ends while the merchant has not said when', async () => {
  const { body } = await fixture.pay({ ...HOLD, capture: 'manual' });
  // Who made it writes when it is due next, behind the answer.
  const row = () => fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id: body.id } });
  await until('it waits for the merchant', row, ({ state, leaseId }) => state === 'authorized' && leaseId === null);
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET hold_until = now() + interval '1 second', due_at = now() + interval '1 second' WHERE id = ${body.id}`;
  await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
  const late = await fixture.ask('POST', `/v1/payments/${body.id}/capture`);
  expect([late.status, late.body.code]).toEqual([409, 'payment_not_capturable']);
});

it('waits for a receipt that cannot be cancelled, and does not ask about it twice a second', async () => {
  fixture.register = 'sleeps';
  const { body } = await fixture.pay({ provider: 'click', token: 'token-0001' }, { prefer: 'wait=0' });
  const { receipt } = await fixture.until(body.id, { status: 'captured', receipt: 'accepted' });
  // A person had it sent again: it may be at its register.
  const { prisma } = fixture.gateway;
  await prisma.$executeRaw`
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
    VALUES (${newId('att')}, ${receipt.id}, ${fixture.deviceId}, 1, 'not_registered', '{}', 'bytes', 'rly', now(), '{"resolution": {}}')`;
  expect((await fixture.ask('POST', `/v1/payments/${body.id}/cancel`)).status).toBe(200);
  const dueInS = async (): Promise<number> => {
    const [row] = await prisma.$queryRaw<{ s: number | null }[]>`
      SELECT extract(epoch FROM due_at - now())::float8 AS s FROM payments WHERE id = ${body.id} AND lease_id IS NULL`;
    return row?.s ?? 0;
  };
  await until('it waits', dueInS, (seconds) => seconds > 30, 5_000);
  await fixture.registered(receipt.id);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
});
