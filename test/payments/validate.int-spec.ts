// POST /v1/receipts/validate says of a sale that is paid online what POST /v1/receipts would say, and stores nothing.
import { paymentsFixture, type PaymentsAnswer } from './payments-fixture.js';

const fixture = paymentsFixture();

/** Status, code and every fault: what a client goes by. */
function outcome({ status, body }: PaymentsAnswer): unknown {
  const faults = (body.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`).sort();
  return [status >= 200 && status < 300 ? 'taken' : status, status < 300 ? null : body.code, faults];
}

async function bothSay(sale: Record<string, unknown>, headers: Record<string, string> = {}): Promise<unknown> {
  const before = await fixture.stored();
  const validated = await fixture.ask('POST', '/v1/receipts/validate', sale, headers);
  expect(await fixture.stored()).toEqual(before);
  const posted = await fixture.ask('POST', '/v1/receipts', sale, { prefer: 'wait=0', ...headers });
  expect(outcome(validated)).toEqual(outcome(posted));
  return outcome(validated);
}

it.each([
  ['an unknown provider', { provider: 'paypal' }, '/payment/provider provider_unknown'],
  ['no provider', {}, '/payment/provider provider_unknown'],
  ['a card number', { provider: 'payme', token: '8600495473316478' }, '/payment/token card_data_refused'],
  [
    'a token and a code',
    { provider: 'click', token: 'token-0001', qr_code: 'code-of-a-wallet' },
    '/payment/qr_code invalid_value',
  ],
  ['a phone where none is asked', { provider: 'payme', phone: '998901234567' }, '/payment/phone invalid_value'],
  ['a later capture of what is not held', { provider: 'click', capture: 'manual' }, '/payment/capture invalid_value'],
])('both refuse %s', async (_name, payment, fault) => {
  expect(await bothSay(fixture.sale(payment))).toEqual([422, expect.any(String), [fault]]);
});

it('both name every fault at once', async () => {
  const sale = fixture.sale({ provider: 'paypal' }, { cashier_id: 'csh_nobody' });
  expect(await bothSay(sale)).toEqual([
    422,
    expect.any(String),
    ['/cashier_id cashier_unknown', '/payment/provider provider_unknown'],
  ]);
});

it('both want the right to collect', async () => {
  const stranger = await fixture.gateway.createToken(fixture.gateway.merchantId, ['receipts:write']);
  const said = await bothSay(fixture.sale({ provider: 'payme' }), { authorization: `Bearer ${stranger}` });
  expect(said).toEqual([403, 'insufficient_scope', []]);
});

it('both take what can be paid', async () => {
  for (const payment of [
    { provider: 'payme' },
    { provider: 'click', phone: '998901234567' },
    { provider: 'multicard' },
  ])
    expect(await bothSay(fixture.sale(payment))).toEqual(['taken', null, []]);
});

/** By the check and by every route that takes a sale; nothing is stored by any. */
async function refusedEverywhere(sale: Record<string, unknown>): Promise<unknown> {
  const before = await fixture.stored();
  const [first, ...others] = await Promise.all(
    ['/v1/receipts/validate', '/v1/receipts', '/v1/payments'].map((path) => fixture.ask('POST', path, sale)),
  );
  if (!first) throw new Error('nothing was asked');
  for (const other of others) expect(outcome(other)).toEqual(outcome(first));
  expect(await fixture.stored()).toEqual(before);
  return outcome(first);
}

describe('a currency, which no sale has', () => {
  const OTHER: [string, Record<string, unknown>, Record<string, unknown>, string][] = [
    ['of the payment', { currency: 'USD' }, {}, '/payment/currency unknown_field'],
    ['of the payment, also so‘m', { currency: 'UZS' }, {}, '/payment/currency unknown_field'],
    ['of the sale', {}, { currency: 'USD' }, '/currency unknown_field'],
  ];
  it.each(OTHER)('%s is refused by all, before anything is stored', async (_name, payment, more, fault) => {
    const sale = fixture.sale({ provider: 'payme', ...payment }, more);
    expect(await refusedEverywhere(sale)).toEqual([422, expect.any(String), [fault]]);
  });
});

describe('where the provider registers', () => {
  const path = (): string => `/v1/provider-accounts/${fixture.accountIds['multicard'] ?? ''}`;
  beforeAll(() => fixture.ask('PATCH', path(), { settings: { fiscal_mode: 'provider' } }));
  afterAll(() => fixture.ask('PATCH', path(), { settings: { fiscal_mode: 'gateway' } }));

  it('both refuse what its form cannot express, and a register of the merchant’s', async () => {
    const sale = fixture.sale({ provider: 'multicard' });
    const [item] = sale['items'] as object[];
    expect(await bothSay({ ...sale, items: [{ ...item, qty: 0.5 }] })).toEqual([
      422,
      expect.any(String),
      ['/items/0/qty invalid_value'],
    ]);
    expect(await bothSay({ ...sale, device_id: fixture.deviceId })).toEqual([
      422,
      expect.any(String),
      ['/device_id invalid_value'],
    ]);
  });

  it('both take what it can register; no device is named', async () => {
    const sale = fixture.sale({ provider: 'multicard' });
    expect(await bothSay(sale)).toEqual(['taken', null, []]);
    const { body } = await fixture.ask('POST', '/v1/receipts/validate', sale);
    expect(body).toMatchObject({ valid: true, device_id: null });
  });
});

describe('an account that was disabled', () => {
  beforeAll(async () => {
    const path = `/v1/provider-accounts/${fixture.accountIds['paynet'] ?? ''}`;
    expect((await fixture.ask('DELETE', path)).status).toBeLessThan(300);
    const rules = { prefer: 'order', rules: [{ provider: 'paynet' }] };
    expect((await fixture.ask('PUT', '/v1/payment-routing', rules)).status).toBe(200);
  });

  it.each([
    ['its provider', 'paynet', '/payment/provider provider_unknown'],
    ['auto', 'auto', '/payment/provider no_provider_fits'],
  ])('takes no sale by %s, and nothing is stored', async (_name, provider, fault) => {
    expect(await refusedEverywhere(fixture.sale({ provider }))).toEqual([422, expect.any(String), [fault]]);
  });
});
