// Null in an optional field is the same as leaving it out, for money that the gateway collects: the same way of paying, the same faults.
import { newIdOf } from '#runtime';
import { paymentsFixture } from './payments-fixture.js';

const fixture = paymentsFixture();

const NOTHING_OF_PAYMENT = {
  ...{ cash: null, card: null, token: null, phone: null, qr_code: null, otp: null },
  ...{ card_range: null, return_url: null, capture: null },
};
const NOTHING = {
  ...{ type: null, branch_id: null, device_id: null, external_id: null, customer: null, callback_url: null },
  ...{ metadata: null, notify: null },
};
const NOTHING_OF_ITEM = { sku: null, barcode: null, labels: null, discount: null, commission: null };

function withNulls(payment: Record<string, unknown>, more: Record<string, unknown> = {}): Record<string, unknown> {
  const sale = fixture.sale({ ...NOTHING_OF_PAYMENT, ...payment }, { ...NOTHING, ...more });
  const [item] = sale['items'] as [Record<string, unknown>];
  return { ...sale, items: [{ ...NOTHING_OF_ITEM, ...item }] };
}

it.each([
  ['/v1/receipts/validate', { further_receipts: null }],
  ['/v1/receipts', {}],
  ['/v1/payments', { further_receipts: null }],
])('%s takes a sale that says null everywhere', async (path, more) => {
  const answer = await fixture.ask('POST', path, withNulls({ provider: 'payme' }, more), { prefer: 'wait=0' });
  expect([answer.status < 300, answer.body.errors]).toEqual([true, undefined]);
});

it('a token of null is none: the customer is asked on the phone, and no card is charged', async () => {
  const payment = { provider: 'click', phone: '998901234567' };
  const { status, body } = await fixture.ask('POST', '/v1/payments', withNulls(payment), { prefer: 'wait=0' });
  expect([status, body.status, body.next_action]).toEqual([202, 'pending', { type: 'push' }]);
});

it('a sale that is not collected may say null for further receipts', async () => {
  const { status } = await fixture.ask('POST', '/v1/receipts/validate', {
    ...withNulls({}, { further_receipts: null }),
    payment: { method: 'cash' },
  });
  expect(status).toBe(200);
});

it('an account of a sandbox takes no settings, and null is none', async () => {
  const { gateway } = fixture;
  const id = newIdOf('mer', 'mer_test_');
  await gateway.prisma.merchant.create({ data: { id, code: id, name: 'S', tin: '300000000', mode: 'sandbox' } });
  const authorization = `Bearer ${await gateway.createToken(id, ['clients:admin'])}`;
  const account = { provider: 'payme', name: null, settings: null, sources: null };
  const { status } = await fixture.ask('POST', '/v1/provider-accounts', account, { authorization });
  expect(status).toBe(201);
});

it('receipts of several sellers that have no external_id do not share one', async () => {
  const sale = withNulls({ provider: 'payme' });
  const items = (sale['items'] as object[]).map((item) => ({ ...item, commission: { tin: '300000001', pinfl: null } }));
  const other = { items, cashier_id: null, branch_id: null, device_id: null, external_id: null, metadata: null };
  const { status, body } = await fixture.ask('POST', '/v1/payments', { ...sale, further_receipts: [other] });
  expect([status < 300, body.errors, body.further_receipts.length]).toEqual([true, undefined, 1]);
});
