// Payme calls us around a payment by token as well: what it takes back there is known here, and money of another payment is refused.
import { ComparePayments } from '../../apps/gateway/src/payments/compare-payments.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { PaymeAround } from './kit/payme-around.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';
import { anId } from './provider-callers.js';

const fixture = paymentsFixture({ PAYMENT_CALL_TIMEOUT_MS: 30_000 });
const around = new PaymeAround(fixture);
const TOKEN = { provider: 'payme', token: 'token-0001' };

beforeAll(async () => {
  await around.start();
  await fixture.choose('payme', { api_url: around.url, key: 'payme-key' });
});
afterAll(() => around.stop());
beforeEach(async () => {
  around.reset();
  await fixture.choose('payme', { fiscal_mode: 'gateway' });
});

async function comparedAt(id: string): Promise<Date | null> {
  return (await fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id } })).comparedAt;
}

async function compareAll(): Promise<void> {
  while ((await fixture.gateway.app.get(ComparePayments).compare(0)) > 0);
}

/** Ended long ago, and compared. */
async function settled(): Promise<{ id: string; receiptId: string }> {
  const { body } = await fixture.pay(TOKEN);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET state_since = now() - interval '1 hour' WHERE id = ${body.id}`;
  await until(
    'it is compared',
    async () => {
      await compareAll();
      return comparedAt(body.id);
    },
    (at) => at !== null,
  );
  return { id: body.id, receiptId: body.receipt.id };
}

describe('money of a token that Payme gives back in its cabinet', () => {
  it('is known by its CancelTransaction: the receipt is refunded once', async () => {
    const { id, receiptId } = await settled();
    expect(around.said.map(([, verdict]) => verdict)).toEqual([{ allow: true }, 1, 2]);
    await around.cancelled(id);
    expect(around.said.at(-1)).toEqual(['CancelTransaction', -2]);
    await fixture.until(id, { status: 'refunded' });
    await fixture.untilRefunded(receiptId);
    // Its repeat finds nothing that is new.
    await around.calls('CancelTransaction', { id: around.receipts.get(id), reason: 5 });
    await compareAll();
    expect(await fixture.refundsOf(receiptId)).toHaveLength(1);
    expect(await fixture.simulated(id)).toMatchObject([{ captures: 1, refunds: 1 }]);
    expect(await fixture.disagreement(id)).toBeUndefined();
  });

  it('and still has in its queue when it asks us is compared until it is back', async () => {
    const { id } = await settled();
    around.isQueued = true;
    await around.cancelled(id);
    await compareAll();
    expect([(await fixture.read(id)).status, await comparedAt(id)]).toEqual(['captured', null]);
    around.isQueued = false;
    await fixture.gateway.app.get(ComparePayments).afterHint(id);
    await fixture.until(id, { status: 'refunded' });
  });

  it('is known by the document of its refund, where Payme registers', async () => {
    await fixture.choose('payme', { fiscal_mode: 'provider' });
    const { id, receiptId } = await settled();
    // What the document says is on its way before the call about the money.
    around.said.length = 0;
    await around.cancelled(id);
    expect(around.said).toEqual([]);
    await fixture.until(id, { status: 'refunded' });
    await fixture.untilRefunded(receiptId);
  });

  it('while it is held: what waits is not sold', async () => {
    const { body } = await fixture.pay({ ...TOKEN, capture: 'manual' });
    await fixture.until(body.id, { status: 'authorized' });
    await around.cancelled(body.id);
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
    expect(around.said.at(-1)).toEqual(['CancelTransaction', -1]);
  });
});

describe('a customer who pays the same order on Payme’s page', () => {
  const creation = (ourRef: string, id = anId()): object => ({
    ...{ id, time: Date.now(), amount: PRICE, account: { order_id: ourRef } },
  });

  /** It waits for Payme’s receipts. */
  async function waiting(): Promise<string> {
    around.isAway = true;
    const { body } = await fixture.pay(TOKEN, { prefer: 'wait=0' });
    await fixture.until(body.id, { status: 'created' });
    return body.id;
  }

  async function goesOn(id: string): Promise<void> {
    around.isAway = false;
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET due_at = now() WHERE id = ${id} AND lease_id IS NULL`;
  }

  it.each([
    ['the token is tried afterwards', 'captured', 'registered'],
    ['the merchant cancels afterwards', 'cancelled', 'cancelled'],
  ])('is refused while the order waits for its token: %s', async (_name, status, receipt) => {
    const id = await waiting();
    const other = anId();
    const { account, amount } = creation(id) as { account: object; amount: number };
    expect(await around.calls('CheckPerformTransaction', { account, amount })).toEqual({ allow: true });
    expect(await around.calls('CreateTransaction', creation(id, other))).toBe(-31008);
    expect(await around.calls('PerformTransaction', { id: other })).toBe(-31003);
    if (status === 'cancelled') await fixture.ask('POST', `/v1/payments/${id}/cancel`);
    await goesOn(id);
    await fixture.until(id, { status, receipt });
  });

  it('is refused while the token is being paid, and the token is paid', async () => {
    const id = await waiting();
    around.meanwhile = async () => void (await around.calls('CreateTransaction', creation(id)));
    await goesOn(id);
    await fixture.until(id, { status: 'captured', receipt: 'registered' });
    expect(around.said.map(([, verdict]) => verdict)).toEqual([{ allow: true }, -31008, 1, 2]);
  });

  it('and whose transaction was let in by a release before is refused when it is to be paid', async () => {
    const id = await waiting();
    const other = anId();
    await fixture.gateway.prisma.$executeRaw`
      INSERT INTO provider_transactions (account_id, id, payment_id, state, is_live, amount_tiyin, provider_time_ms, create_time_ms)
      VALUES (${fixture.accountIds['payme']}, ${other}, ${id}, 1, true, ${PRICE}, ${Date.now()}::int8, ${Date.now()}::int8)`;
    expect(await around.calls('PerformTransaction', { id: other })).toBe(-31008);
    await fixture.ask('POST', `/v1/payments/${id}/cancel`);
    await fixture.until(id, { status: 'cancelled', receipt: 'cancelled' });
    expect(await around.calls('PerformTransaction', { id: other })).toBe(-31008);
  });
});

it('says no to the money of a token that has ended without any', async () => {
  await fixture.faults({ fault: 'decline', next: 1 });
  const { body } = await fixture.pay(TOKEN);
  await fixture.until(body.id, { status: 'declined', receipt: 'cancelled' });
  const id = around.receipts.get(body.id);
  expect(await around.calls('PerformTransaction', { id })).toBe(-31008);
  expect(await around.calls('CancelTransaction', { id, reason: 2 })).toBe(-1);
});
