// Promise: a sale below the least or above the most sum of an account is refused before anything is stored, at every provider, and "auto" goes past it.
import type { ProviderCode } from '#payments';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();
/** What a payment at each provider needs beside its name; `auto` asks none that needs a token. */
const NEEDS: [ProviderCode, Record<string, string>][] = [
  ['payme', {}],
  ['click', {}],
  ['multicard', {}],
  ['uzum', {}],
  ['octo', {}],
  ['paynet', {}],
  ['atmos', { token: 'token-0001' }],
  ['stripe', { token: 'pm_card_0001' }],
];
const ROUTED = NEEDS.filter(([, more]) => more['token'] === undefined).map(([provider]) => provider);
const ROUTES = ['/v1/payments', '/v1/receipts', '/v1/receipts/validate'];
const BELOW = { least_amount: String(PRICE + 1), most_amount: '' };
const ABOVE = { least_amount: '1', most_amount: String(PRICE - 1) };

/** Stripe's has a least sum of its own, and so cannot be without one. */
const open = (provider: ProviderCode): Promise<void> =>
  fixture.choose(provider, { least_amount: provider === 'stripe' ? '50000' : '', most_amount: '' });

const path = (provider: ProviderCode): string => `/v1/provider-accounts/${fixture.accountIds[provider] ?? ''}`;

async function expectRefused(payment: Record<string, string>, wanted: string, detail: RegExp): Promise<void> {
  const before = await fixture.stored();
  for (const route of ROUTES) {
    const { status, body } = await fixture.ask('POST', route, fixture.sale(payment));
    const faults = (body.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`);
    expect([route, status, faults]).toEqual([route, 422, [wanted]]);
    expect(JSON.stringify(body.errors)).toMatch(detail);
  }
  expect(await fixture.stored()).toEqual(before);
}

describe.each(NEEDS)('%s', (provider, more) => {
  afterEach(() => open(provider));

  it('has no bounds until they are set, and shows those that are', async () => {
    const { settings } = (await fixture.ask('GET', path(provider))).body as { settings?: Record<string, string> };
    expect(settings?.['most_amount']).toBeUndefined();
    await fixture.choose(provider, ABOVE);
    expect((await fixture.ask('GET', path(provider))).body['settings']).toMatchObject(ABOVE);
  });

  it.each([
    ['below its least sum', BELOW, new RegExp(`from ${String(PRICE + 1)} tiyin`)],
    ['above its most', ABOVE, new RegExp(`up to ${String(PRICE - 1)} tiyin`)],
  ])('refuses a sale %s before anything is stored, also by validate', async (_name, settings, detail) => {
    await fixture.choose(provider, settings);
    await expectRefused({ provider, ...more }, '/payment/provider invalid_value', detail);
  });

  it('takes a sale of exactly its bounds', async () => {
    await fixture.choose(provider, { least_amount: String(PRICE), most_amount: String(PRICE) });
    const { status } = await fixture.ask('POST', '/v1/receipts/validate', fixture.sale({ provider, ...more }));
    expect(status).toBe(200);
  });

  it.each([
    ['most_amount', 'out_of_range', { least_amount: '200000', most_amount: '100000' }],
    ['least_amount', 'invalid_format', { least_amount: '1.5' }],
    ['most_amount', 'invalid_format', { most_amount: '-1' }],
  ])('422 at %s, %s, for bounds that are none', async (field, code, settings) => {
    const before = (await fixture.ask('GET', path(provider))).body['settings'];
    const { status, body } = await fixture.ask('PATCH', path(provider), { settings });
    expect([status, body.errors.map((fault) => [fault.pointer, fault.code])]).toEqual([
      422,
      [[`/settings/${field}`, code]],
    ]);
    expect((await fixture.ask('GET', path(provider))).body['settings']).toEqual(before);
  });
});

describe.each(ROUTED)('auto, with a rule of %s', (provider) => {
  const route = (...providers: string[]) =>
    fixture.ask('PUT', '/v1/payment-routing', {
      prefer: 'order',
      rules: providers.map((name) => ({ provider: name })),
    });
  afterEach(() => open(provider));

  it.each([
    ['below its least sum', BELOW],
    ['above its most', ABOVE],
  ])('passes it over for a sale %s, and refuses where there is no other', async (_name, settings) => {
    await fixture.choose(provider, settings);
    const other = provider === 'payme' ? 'click' : 'payme';
    expect((await route(provider, other)).status).toBe(200);
    const taken = await fixture.pay({ provider: 'auto' });
    expect([taken.status, taken.body.provider]).toEqual([202, other]);
    await route(provider);
    await expectRefused({ provider: 'auto' }, '/payment/provider no_provider_fits', /tiyin/);
  });
});
