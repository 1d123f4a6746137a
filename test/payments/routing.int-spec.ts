// Promise: "auto" takes a payment to the merchant's best provider that can have it, elsewhere only before money moves, and nowhere when none fits.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PaymentView } from '../../apps/gateway/src/payments/payment-view.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture, PRICE, type PaymentsAnswer } from './payments-fixture.js';

const fixture = paymentsFixture();
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9';

function route(rules: readonly Record<string, unknown>[], prefer = 'order'): Promise<PaymentsAnswer> {
  return fixture.ask('PUT', '/v1/payment-routing', { prefer, rules });
}

const auto = (more: Record<string, unknown> = {}): Promise<PaymentsAnswer> =>
  fixture.pay({ provider: 'auto', ...more });

/** Paid to its end: what still waits for its customer is asked about every few seconds, and takes the faults of other tests. */
async function finish(view: PaymentView): Promise<void> {
  await fixture.payOnPage(view);
  await fixture.until(view.id, { status: 'captured', receipt: 'registered' });
}

/** Where each payment has been, its events say. */
async function reroutes(id: string): Promise<unknown[]> {
  const events = await fixture.gateway.events(id);
  return events.filter(({ type }) => type === 'payment.rerouted').map(({ data }) => data);
}

/** Octo is somewhere else, with its secrets given anew. */
const moveOcto = (url: string): Promise<void> =>
  fixture.choose('octo', { api_url: `${url}/octo/api`, secret: 'octo-secret' });

it('takes the accounts in their order until there are rules', async () => {
  const { status, body } = await fixture.ask('GET', '/v1/payment-routing');
  expect([status, body['prefer'], body['updated_at']]).toEqual([200, 'order', null]);
  expect(body['rules']).toEqual(
    ['payme', 'click', 'multicard', 'uzum', 'paynet', 'atmos', 'stripe', 'octo'].map((provider) => ({ provider })),
  );
  const view = (await auto()).body;
  expect([view.provider, view.status, view.next_action.type]).toEqual(['payme', 'pending', 'redirect']);
});

it('goes by sum and card, and pays as with a named provider', async () => {
  const rules = [
    { provider: 'octo', card_ranges: ['4', '51'] },
    { provider: 'click', amount_max: PRICE },
    { provider: 'payme', amount_min: PRICE + 1 },
  ];
  expect((await route(rules)).status).toBe(200);
  expect((await fixture.ask('GET', '/v1/payment-routing')).body['rules']).toEqual(rules);
  expect((await auto({ card_range: '8600' })).body.provider).toBe('click');
  const view = (await auto({ card_range: '5105' })).body;
  expect(view.provider).toBe('octo');
  await finish(view);
});

it('takes the cheapest where that is wanted', async () => {
  await route(
    [
      { provider: 'payme', cost_basis_points: 200 },
      { provider: 'octo', cost_basis_points: 100, cost_fixed: 100 },
    ],
    'cost',
  );
  const view = (await auto()).body;
  expect(view.provider).toBe('octo');
  await finish(view);
});

it.each<[string, readonly Record<string, unknown>[], Record<string, unknown>, string]>([
  ['a sum below every rule', [{ provider: 'payme', amount_min: PRICE + 1 }], {}, '/payment/provider no_provider_fits'],
  ['a card of no rule', [{ provider: 'octo', card_ranges: ['4'] }], {}, '/payment/provider no_provider_fits'],
  [
    'a phone that none can ask',
    [{ provider: 'octo' }],
    { phone: '998901234567' },
    '/payment/provider no_provider_fits',
  ],
  ['a provider without a page', [{ provider: 'atmos' }], {}, '/payment/provider no_provider_fits'],
  ['a token', [{ provider: 'payme' }], { token: 'token-0001' }, '/payment/token invalid_value'],
  ['a wallet’s code', [{ provider: 'click' }], { qr_code: 'code-of-a-wallet' }, '/payment/qr_code invalid_value'],
])('refuses %s before anything is stored, also by validate', async (_name, rules, payment, wanted) => {
  await route(rules);
  const before = await fixture.stored();
  const sale = fixture.sale({ provider: 'auto', ...payment });
  for (const path of ['/v1/receipts/validate', '/v1/payments', '/v1/receipts']) {
    const { status, body } = await fixture.ask('POST', path, sale);
    expect([status, (body.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)]).toEqual([422, [wanted]]);
  }
  expect(await fixture.stored()).toEqual(before);
});

it.each<[string, Record<string, unknown>, string]>([
  ['an unknown provider', { prefer: 'order', rules: [{ provider: 'paypal' }] }, '/rules/0/provider'],
  ['no rules', { prefer: 'order', rules: [] }, '/rules'],
  ['another word', { prefer: 'luck', rules: [{ provider: 'octo' }] }, '/prefer'],
  [
    'a whole card number',
    { prefer: 'order', rules: [{ provider: 'octo', card_ranges: ['860049547331'] }] },
    '/rules/0/card_ranges',
  ],
  [
    'bounds that no sum meets',
    { prefer: 'order', rules: [{ provider: 'octo', amount_min: 2, amount_max: 1 }] },
    '/rules/0/amount_max',
  ],
])('rules are refused with %s', async (_name, rules, pointer) => {
  const { status, body } = await fixture.ask('PUT', '/v1/payment-routing', rules);
  expect([status, body.errors.map((fault) => fault.pointer)]).toEqual([422, [expect.stringContaining(pointer)]]);
});

it('shows a merchant its own rules alone', async () => {
  const stranger = await fixture.stranger(['clients:admin', 'clients:read']);
  const { body } = await fixture.ask('GET', '/v1/payment-routing', undefined, stranger);
  expect([body['rules'], body['updated_at']]).toEqual([[], null]);
});

const health = async (): Promise<{ status: string }> =>
  (await fixture.ask('GET', `/v1/provider-accounts/${fixture.accountIds['octo'] ?? ''}`)).body['health'] as never;

/** A payment that names Octo is the call that shows it. */
async function untilOctoAnswers(): Promise<void> {
  await until(
    'Octo answers',
    async () => {
      const { id } = (await fixture.pay({ provider: 'octo' })).body;
      await finish(await fixture.until(id, { status: 'pending' }));
      return health();
    },
    ({ status }) => status === 'up',
  );
}

describe('when a provider does not answer', () => {
  beforeEach(untilOctoAnswers);

  it.each(['error_before', 'error_after', 'drop_before', 'malformed'])(
    'goes to the next provider when the first one answers with %s, and pays there once',
    async (fault) => {
      await route([{ provider: 'octo' }, { provider: 'payme' }]);
      await fixture.faults({ fault, next: 1, path: '/prepare_payment' });
      const { id } = (await auto()).body;
      const view = await fixture.until(id, { status: 'pending' });
      expect([view.provider, await reroutes(id)]).toEqual([
        'payme',
        [expect.objectContaining({ from: 'octo', to: 'payme' })],
      ]);
      await fixture.payOnPage(view);
      await fixture.until(id, { status: 'captured', receipt: 'registered' });
      const charged = (await fixture.simulated(id)).filter(({ captures }) => captures > 0);
      expect(charged.map(({ provider, captures }) => [provider, captures])).toEqual([['payme', 1]]);
    },
  );

  it('stays where its customer was sent, whatever that provider does afterwards', async () => {
    await route([{ provider: 'octo' }, { provider: 'payme' }]);
    const view = (await auto()).body;
    expect([view.provider, view.next_action.type]).toEqual(['octo', 'redirect']);
    await moveOcto(NOWHERE);
    await until(
      'its status was asked for in vain',
      () =>
        fixture.gateway.prisma.$queryRaw<unknown[]>`
          SELECT FROM payment_calls WHERE payment_id = ${view.id} AND call = 'read_status' AND outcome ->> 'kind' = 'unsent'`,
      (calls) => calls.length > 0,
    );
    await moveOcto(fixture.simulatorUrl);
    await fixture.payOnPage(view);
    const ended = await fixture.until(view.id, { status: 'captured', receipt: 'registered' });
    expect([ended.provider, await reroutes(view.id)]).toEqual(['octo', []]);
  });

  it('stays at its last provider, and at one that was named', async () => {
    await route([{ provider: 'octo' }]);
    for (const payment of [{ provider: 'auto' }, { provider: 'octo' }]) {
      await fixture.faults({ fault: 'error_before', next: 1, path: '/prepare_payment' });
      const { id } = (await fixture.pay(payment)).body;
      const view = await fixture.until(id, { status: 'pending' });
      expect([view.provider, await reroutes(id)]).toEqual(['octo', []]);
      await finish(view);
    }
  });

  it.each<[string, number, string]>([
    ['answers each call with a code that its list does not have is there', 200, 'up'],
    ['answers each call with an error of its server is not there', 503, 'down'],
  ])('a provider that %s', async (_what, status, wanted) => {
    await route([{ provider: 'octo' }, { provider: 'payme' }]);
    let asked = 0;
    const odd = createServer((_request, response) => {
      asked += 1;
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":99,"errMessage":"not now"}');
    });
    await new Promise<void>((done) => odd.listen(0, '127.0.0.1', done));
    try {
      await moveOcto(`http://127.0.0.1:${String((odd.address() as AddressInfo).port)}`);
      for (let nth = 0; nth < 4; nth += 1) {
        const { id } = (await auto()).body;
        expect((await fixture.until(id, { status: 'pending' })).provider).toBe('payme');
      }
      expect(asked).toBeGreaterThanOrEqual(3);
      expect((await health()).status).toBe(wanted);
    } finally {
      odd.close();
      await moveOcto(fixture.simulatorUrl);
    }
  });

  it('puts a provider that does not answer behind the others, and says so once', async () => {
    await route([{ provider: 'octo' }, { provider: 'payme' }]);
    await moveOcto(NOWHERE);
    const events = async (): Promise<string[]> => {
      const all = await fixture.gateway.events(fixture.accountIds['octo'] ?? '');
      return all.map(({ type }) => type);
    };
    const seen = await until(
      'Octo counts as down',
      async () => {
        const { id } = (await auto()).body;
        expect((await fixture.until(id, { status: 'pending' })).provider).toBe('payme');
        return health();
      },
      ({ status }) => status === 'down',
    );
    expect(seen).toMatchObject({ since: expect.any(String), detail: expect.any(String) });
    // A minute after its last failure it is tried again: then the next one goes past it.
    const direct = async (): Promise<[string, unknown[]]> => {
      const { id } = (await auto()).body;
      return [(await fixture.until(id, { status: 'pending' })).provider, await reroutes(id)];
    };
    const [taker] = await until('a payment goes past Octo', direct, ([, elsewhere]) => elsewhere.length === 0);
    expect(taker).toBe('payme');
    expect((await events()).at(-1)).toBe('provider_account.down');
    const metrics = await (await fetch(`${fixture.gateway.base}/metrics`)).text();
    expect(metrics).toMatch(/provider_accounts_down\{[^}]*provider="octo"[^}]*\} 1\b/);
    expect(metrics).toMatch(/provider_routes_total\{[^}]*provider="payme",why="failover"[^}]*\} [1-9]/);
    await moveOcto(fixture.simulatorUrl);
    await untilOctoAnswers();
    const all = await events();
    // Never the same twice in a row.
    expect(all.at(-1)).toBe('provider_account.up');
    expect(all.filter((type, index) => type === all[index - 1])).toEqual([]);
    const view = (await auto()).body;
    expect(view.provider).toBe('octo');
    await finish(view);
  });
});
