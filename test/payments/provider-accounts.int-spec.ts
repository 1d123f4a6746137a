// Promise: a provider's secret goes where it was entered for, and nowhere else: not to a changed address, not to a host that the operator does not list.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseProviderHosts, PROVIDER_HOSTS } from '#payments';
import { withinMerchant } from '#database';
import { ProviderAccounts } from '../../apps/gateway/src/payments/accounts/provider-accounts.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture } from './payments-fixture.js';

const fixture = paymentsFixture();

interface ReceivedRequest {
  headers: IncomingHttpHeaders;
  body: string;
}

/** A server of another party: keeps what it is sent, and answers nothing that a provider would. */
class ForeignListener {
  readonly received: ReceivedRequest[] = [];
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(host: string): Promise<ForeignListener> {
    const received: ReceivedRequest[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        if (answerWith !== null) {
          response.writeHead(answerWith.status, { connection: 'close' }).end(answerWith.body);
          return;
        }
        const location = redirectTo === null ? {} : { location: redirectTo };
        response.writeHead(redirectTo === null ? 500 : 307, { connection: 'close', ...location }).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const listener = new ForeignListener(server, `http://${host}:${String((server.address() as AddressInfo).port)}`);
    Object.assign(listener, { received });
    return listener;
  }

  get everything(): string {
    return JSON.stringify(this.received);
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

/** Of each provider: its secrets as the fixture entered them, and a payment that makes the gateway call it. */
const PROVIDERS = [
  ['payme', { key: 'payme-key' }, { key: 'another-key' }, { provider: 'payme', token: 'token-0001' }],
  ['click', { secret_key: 'SECRET123' }, { secret_key: 'OTHER-SECRET' }, { provider: 'click', phone: '998901234567' }],
  [
    'multicard',
    { secret: 'multi-secret' },
    { secret: 'another-secret' },
    { provider: 'multicard', token: 'token-0001' },
  ],
] as const;

/** Where the listeners send a caller; null: nowhere. */
let redirectTo: string | null = null;
/** What the listeners answer instead; null: nothing of their own. */
let answerWith: { status: number; body: string } | null = null;
let foreign: ForeignListener;
let unlisted: ForeignListener;
beforeAll(async () => {
  foreign = await ForeignListener.start('127.0.0.1');
  unlisted = await ForeignListener.start('127.0.0.2');
});
afterAll(async () => {
  await foreign?.stop();
  await unlisted?.stop();
});

const patch = (provider: string, settings: Record<string, string>) =>
  fixture.ask('PATCH', `/v1/provider-accounts/${fixture.accountIds[provider] ?? ''}`, { settings });
const rowOf = (provider: string) =>
  fixture.gateway.prisma.providerAccount.findUniqueOrThrow({ where: { id: fixture.accountIds[provider] ?? '' } });

describe.each(PROVIDERS)('%s', (provider, secrets, others, payment) => {
  const [name = ''] = Object.keys(secrets);

  it('422 secret_required for another api_url alone; nothing is stored and nothing is sent', async () => {
    const before = await rowOf(provider);
    const answer = await patch(provider, { api_url: `${foreign.url}/x` });
    expect([answer.status, answer.body.errors.map(({ pointer, code }) => [pointer, code])]).toEqual([
      ...[422, [[`/settings/${name}`, 'secret_required']]],
    ]);
    expect(await rowOf(provider)).toEqual(before);
    const { body } = await fixture.pay(payment);
    // A payment of another test, for whose account the address counted, may be asked about there until it is given up.
    expect(foreign.everything).not.toContain(body.id);
    expect(Object.values(secrets).filter((secret) => foreign.everything.includes(secret))).toEqual([]);
  });

  it('422 address_not_allowed for a host that the operator does not list, also with the secret', async () => {
    const answer = await patch(provider, { api_url: `${unlisted.url}/x`, ...secrets });
    expect([answer.status, answer.body.code]).toEqual([422, 'address_not_allowed']);
    expect(answer.body.detail).toContain('PROVIDER_HOSTS');
    expect(unlisted.received).toEqual([]);
  });

  it('200 with the secret in the same call, and only that one goes to the new address', async () => {
    const before = await rowOf(provider);
    expect((await patch(provider, { api_url: `${foreign.url}/x`, ...others })).status).toBe(200);
    await fixture.pay(payment);
    expect(foreign.received.length).toBeGreaterThan(0);
    const [[, old] = []] = Object.entries(secrets);
    expect(foreign.everything).not.toContain(old);
    await fixture.gateway.prisma.providerAccount.update({
      where: { id: before.id },
      data: { settings: before.settings as object, credentialsSealed: new Uint8Array(before.credentialsSealed) },
    });
    foreign.received.length = 0;
  });

  it('200 for the same address again, and for everything else, without the secret', async () => {
    const { settings } = (await rowOf(provider)) as unknown as { settings: { values: Record<string, string> } };
    const answer = await patch(provider, { api_url: settings.values['api_url'] ?? '' });
    expect(answer.status).toBe(200);
    const named = await fixture.ask('PATCH', `/v1/provider-accounts/${fixture.accountIds[provider] ?? ''}`, {
      name: 'renamed',
      sources: [],
    });
    expect(named.status).toBe(200);
  });
});

it('a redirect is not followed', async () => {
  const before = await rowOf('payme');
  expect((await patch('payme', { api_url: `${foreign.url}/x`, key: 'payme-key' })).status).toBe(200);
  redirectTo = `${unlisted.url}/x`;
  await fixture.pay({ provider: 'payme', token: 'token-0001' });
  redirectTo = null;
  expect(foreign.received.length).toBeGreaterThan(0);
  expect(unlisted.received).toEqual([]);
  const data = { settings: before.settings as object, credentialsSealed: new Uint8Array(before.credentialsSealed) };
  await fixture.gateway.prisma.providerAccount.update({ where: { id: before.id }, data });
  foreign.received.length = 0;
});

it('422 secret_required for another page of payment too, and for each secret that is set', async () => {
  expect((await patch('payme', { test_key: 'sandbox-key' })).status).toBe(200);
  const answer = await patch('payme', { checkout_url: `${foreign.url}/payme`, key: 'payme-key' });
  expect(answer.body.errors.map(({ pointer }) => pointer)).toEqual(['/settings/test_key']);
});

it('an address that was stored before its host was unlisted is not called', async () => {
  const before = await rowOf('payme');
  const settings = before.settings as { values: Record<string, string> };
  const values = { ...settings.values, api_url: `${unlisted.url}/x` };
  const where = { id: before.id };
  await fixture.gateway.prisma.providerAccount.update({ where, data: { settings: { ...settings, values } } });
  await until(
    'a call is refused before it is made',
    async () => {
      await fixture.pay({ provider: 'payme', token: 'token-0001' });
      const calls = await fixture.gateway.prisma.paymentCall.findMany();
      return JSON.stringify(calls.map(({ outcome }) => outcome));
    },
    (outcomes) => outcomes.includes('PROVIDER_HOSTS'),
  );
  expect(unlisted.received).toEqual([]);
  await fixture.gateway.prisma.providerAccount.update({ where, data: { settings } });
});

const octoError = (error: number): object => ({ error, errMessage: 'no', data: null });

describe('POST /v1/provider-accounts/{id}/test', () => {
  /** Tests of one account have to be seconds apart. */
  const test = async (provider: string): Promise<Record<string, unknown>> =>
    until(
      `${provider} may be tested`,
      async () => (await fixture.ask('POST', `/v1/provider-accounts/${fixture.accountIds[provider] ?? ''}/test`)).body,
      ({ code }) => code !== 'too_many_requests',
    );

  it.each(['payme', 'click', 'multicard', 'uzum', 'octo', 'atmos', 'stripe'])(
    '%s answers, no payment is made there, and no secret is shown',
    async (provider) => {
      const found = await test(provider);
      expect(found).toMatchObject({ result: 'answered', http_status: expect.any(Number) as number });
      expect(JSON.stringify(found)).not.toMatch(
        /payme-key|SECRET123|multi-secret|uzum-key|octo-secret|atmos-key|sk_test_1/,
      );
      // Of earlier tests' payments some are still at work: what is there and none of them was made by this call.
      const { data } = (await (await fetch(`${fixture.simulatorUrl}/payments`)).json()) as {
        data: { our_ref: string }[];
      };
      const own = new Set((await fixture.gateway.prisma.payment.findMany()).map(({ id }) => id));
      expect(data.map(({ our_ref: ref }) => ref).filter((ref) => !own.has(ref))).toEqual([]);
    },
  );

  it('not_possible for one that only calls; 404 for another merchant; 403 without the scope; 429 at once again', async () => {
    expect(await test('paynet')).toMatchObject({ result: 'not_possible', http_status: null, answer: null });
    const path = `/v1/provider-accounts/${fixture.accountIds['payme'] ?? ''}/test`;
    const statusAs = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${fixture.gateway.base}${path}`, { method: 'POST', headers });
      await answer.arrayBuffer();
      return answer.status;
    };
    const { gateway } = fixture;
    const other = await gateway.createToken(await gateway.createMerchant(), ['clients:admin']);
    expect(await statusAs(other)).toBe(404);
    expect(await statusAs(await gateway.createToken(gateway.merchantId, ['clients:read']))).toBe(403);
    const two = await Promise.all([fixture.ask('POST', path), fixture.ask('POST', path)]);
    expect(two.map(({ status }) => status)).toContain(429);
  });

  it.each([
    ['refused', 401, JSON.stringify({ error: 'no such key: payme-"key"' })],
    ['provider_error', 503, 'busy'],
  ])('%s at HTTP %s, with what was answered and without the key that it repeats', async (result, status, body) => {
    const before = await rowOf('payme');
    answerWith = { status, body };
    expect((await patch('payme', { api_url: `${foreign.url}/x`, key: 'payme-"key"', test_key: 'any' })).status).toBe(
      200,
    );
    const found = await test('payme');
    answerWith = null;
    expect(found).toMatchObject({ result, http_status: status });
    expect(JSON.stringify(found)).not.toContain('payme-');
    const data = { settings: before.settings as object, credentialsSealed: new Uint8Array(before.credentialsSealed) };
    await fixture.gateway.prisma.providerAccount.update({ where: { id: before.id }, data });
  });

  interface Answered {
    provider: string;
    secrets: Record<string, string>;
    status: number;
    body: unknown;
    result: string;
  }
  const OCTO = { provider: 'octo', secrets: { secret: 'any' } };
  const STRIPE = { provider: 'stripe', secrets: { secret_key: 'any', webhook_secret: 'any' } };
  const PAYME = { provider: 'payme', secrets: { key: 'any', test_key: 'any' } };
  it.each<Answered>([
    { ...OCTO, status: 200, body: octoError(2), result: 'refused' },
    { ...OCTO, status: 200, body: octoError(11), result: 'provider_error' },
    { ...PAYME, status: 429, body: {}, result: 'provider_error' },
    { ...STRIPE, status: 429, body: { error: { type: 'x' } }, result: 'provider_error' },
    { ...STRIPE, status: 401, body: { error: { type: 'x' } }, result: 'refused' },
    { ...STRIPE, status: 200, body: 'hello', result: 'provider_error' },
  ])('$provider at HTTP $status $body: $result', async ({ provider, secrets, status, body, result }) => {
    const before = await rowOf(provider);
    answerWith = { status, body: JSON.stringify(body) };
    expect((await patch(provider, { api_url: `${foreign.url}/x`, ...secrets })).status).toBe(200);
    const found = await test(provider);
    answerWith = null;
    const data = { settings: before.settings as object, credentialsSealed: new Uint8Array(before.credentialsSealed) };
    await fixture.gateway.prisma.providerAccount.update({ where: { id: before.id }, data });
    expect(found).toMatchObject({ result, http_status: status });
  });

  it('what is read of an account is shared, and does not depend on who asked for it first', async () => {
    const accounts = fixture.gateway.app.get(ProviderAccounts);
    const id = fixture.accountIds['payme'] ?? '';
    const stranger = await fixture.gateway.createMerchant();
    const shared = withinMerchant(stranger, () => accounts.reopen(id));
    const own = withinMerchant(fixture.gateway.merchantId, () => accounts.reopen(id));
    expect([(await shared)?.id, (await own)?.id]).toEqual([id, id]);
  });
});

describe('PROVIDER_HOSTS', () => {
  const isListed = (list: string, url: string): boolean => parseProviderHosts(list).has(new URL(url));

  it.each([
    ['a.uz', 'https://a.uz/x', true],
    ['a.uz', 'https://A.UZ:443/x', true],
    ['a.uz', 'https://a.uz:8443/x', false],
    ['a.uz:8443', 'https://a.uz:8443/x', true],
    ['a.uz:*', 'http://a.uz:9/x', true],
    ['a.uz', 'https://b.a.uz/x', false],
    ['a.uz', 'https://a.uz.evil.example/x', false],
    ['b.uz,127.0.0.1:*', 'http://127.0.0.1:8757/payme', true],
    ['[::1]:8757', 'http://[::1]:8757/payme', true],
  ])('%s and %s: %s', (list, url, expected) => {
    expect(isListed(list, url)).toBe(expected);
  });

  it.each(['*', 'https://a.uz', 'a.uz/x', 'a.uz:', 'a.uz:0x1', '*.a.uz', 'a b'])('%s is refused', (list) => {
    expect(() => parseProviderHosts(list)).toThrow('hosts');
  });

  it('holds the documented ones unless it is set', () => {
    for (const host of ['checkout.paycom.uz', 'api.click.uz', 'my.click.uz', 'mesh.multicard.uz']) {
      expect(parseProviderHosts(PROVIDER_HOSTS).has(new URL(`https://${host}/`))).toBe(true);
    }
  });
});
