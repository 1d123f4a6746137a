// Every provider keeps the port's word: what it says of a call is what happened to the money, and what was not answered is unknown.
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { guardedRequest, OutgoingGuard, parseCidr } from '#outgoing';
import {
  ClickClient,
  MulticardClient,
  PaymeClient,
  readAnswer,
  type HttpExchange,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
} from '#payments';
import { paymentsSimulator } from '../../apps/payments-simulator/src/server.js';

const loopback = parseCidr('127.0.0.0/8');
if (loopback.kind === 'invalid') throw new Error(loopback.reason);
const guard = OutgoingGuard.forProviders([loopback.cidr]);

const exchange: HttpExchange = async ({ method, url, headers, body }) => {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const answer = await guardedRequest(guard, {
    ...{ url, method, timeoutMs: 2_000 },
    headers: { ...(payload !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(payload !== undefined && { body: payload }),
  });
  if (answer.kind === 'answered') return readAnswer(answer.status, answer.body.toString('utf8'));
  if (answer.kind === 'failed') return { kind: 'unknown', detail: answer.reason };
  return { kind: 'unsent', detail: answer.reason };
};

let simulator: FastifyInstance;
let url = '';
let orders = 0;

beforeAll(async () => {
  simulator = paymentsSimulator();
  await simulator.listen({ port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${String((simulator.server.address() as AddressInfo).port)}`;
});
afterAll(() => simulator.close());

type Make = (base: string) => PaymentProvider;

const PROVIDERS: [string, 'hold' | 'charge', Make][] = [
  [
    'payme',
    'hold',
    (base) =>
      new PaymeClient({ apiUrl: `${base}/payme/api`, cashboxId: 'b', key: 'k', accountField: 'order_id' }, exchange),
  ],
  [
    'click',
    'charge',
    (base) =>
      new ClickClient(
        { apiUrl: `${base}/click/v2/merchant`, serviceId: '1', merchantUserId: '2', secretKey: 's' },
        exchange,
      ),
  ],
  [
    'multicard',
    'hold',
    (base) =>
      new MulticardClient({ apiUrl: `${base}/multicard`, applicationId: 'a', secret: 's', storeId: '6' }, exchange),
  ],
];

describe.each(PROVIDERS)('%s', (_name, flow, make) => {
  const instrument = { token: 'token-0001', phone: null, qr: null, otp: null };

  async function begun(provider: PaymentProvider): Promise<{ order: PaymentOrder; ref: PaymentRef }> {
    orders += 1;
    const ourRef = `pay_${String(orders)}`;
    const order = {
      ourRef,
      amountTiyin: 150_050,
      description: 'Order',
      callbackUrl: null,
      returnUrl: null,
      lines: null,
      saleLines: [],
    };
    const ref: PaymentRef = { ourRef, providerRef: null, flow, amountTiyin: 150_050, createdAtMs: Date.now() };
    const prepared = await provider.prepare?.(order, flow, instrument);
    if (prepared?.kind === 'status') ref.providerRef = prepared.providerRef;
    return { order, ref };
  }

  async function authorized(provider: PaymentProvider): Promise<PaymentRef> {
    const { order, ref } = await begun(provider);
    const outcome = await provider.authorize?.(order, instrument, ref);
    expect(outcome).toMatchObject({ kind: 'status', status: flow === 'hold' ? 'authorized' : 'captured' });
    if (outcome?.kind === 'status') ref.providerRef ??= outcome.providerRef;
    return ref;
  }

  async function faults(...rules: { fault: string; next: number }[]): Promise<void> {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ rules }) };
    await (await fetch(`${url}/faults`, init)).text();
  }

  async function settled(provider: PaymentProvider, ref: PaymentRef) {
    return provider.fetchStatus?.(ref);
  }

  it('moves the money as it says, by the same sum', async () => {
    const provider = make(url);
    const ref = await authorized(provider);
    if (provider.capture && flow === 'hold')
      expect(await provider.capture(ref, null)).toMatchObject({
        kind: 'status',
        status: 'captured',
        amountTiyin: 150_050,
      });
    expect(await settled(provider, ref)).toMatchObject({ status: 'captured' });
    await provider.refund?.(ref, 150_050);
    const after = await settled(provider, ref);
    expect(after?.kind === 'status' ? after.status : after).toMatch(/refunded|voided|declined/);
  });

  it('attaches the link to what was paid', async () => {
    const provider = make(url);
    const ref = await authorized(provider);
    await provider.capture?.(ref, null);
    const link = {
      url: 'https://ofd/x',
      terminalId: 'UZ1',
      receiptSeq: 1,
      fiscalSign: '1',
      dateTime: '20260102030405',
    };
    expect(await provider.attachLink?.(ref, { ...link, isRefund: false })).toMatchObject({ kind: 'status' });
  });

  it('lets a hold go', async () => {
    const provider = make(url);
    const ref = await authorized(provider);
    if (flow !== 'hold') return;
    await provider.void?.(ref);
    const after = await settled(provider, ref);
    // Some call what was released given back.
    expect(after?.kind === 'status' ? after.status : after).toMatch(/voided|refunded/);
  });

  it('distinguishes a declined card from a lost answer', async () => {
    const provider = make(url);
    const { order, ref } = await begun(provider);
    await faults({ fault: 'decline', next: 1 });
    const outcome = await provider.authorize?.(order, instrument, ref);
    expect(outcome?.kind === 'refused' || (outcome?.kind === 'status' && outcome.status === 'declined')).toBe(true);
  });

  it.each(['drop_before', 'drop_after', 'error_before', 'error_after', 'malformed'])(
    'knows nothing after %s, and learns it from the status',
    async (fault) => {
      const provider = make(url);
      const { order, ref } = await begun(provider);
      await faults({ fault, next: 1 });
      expect(await provider.authorize?.(order, instrument, ref)).toMatchObject({ kind: 'unknown' });
      const status = await settled(provider, ref);
      const taken = flow === 'hold' ? 'authorized' : 'captured';
      const isDone = fault !== 'drop_before' && fault !== 'error_before';
      expect(status?.kind === 'status' ? status.status : status).toMatch(isDone ? taken : /pending|not_found/);
    },
  );

  it('sends nothing to an address without a server, and says so', async () => {
    const provider = make('http://127.0.0.1:9');
    const { order, ref } = await begun(provider);
    expect(await provider.authorize?.(order, instrument, ref)).toMatchObject({ kind: 'unsent' });
  });
});
