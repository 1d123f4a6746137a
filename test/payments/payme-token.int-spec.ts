// Payme calls us around a payment by token as well: what it takes back there is known here, and money of another payment is refused.
import { ComparePayments } from '../../apps/gateway/src/payments/compare-payments.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { PaymeAround } from './kit/payme-around.js';
import { paymentsFixture } from './payments-fixture.js';

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
