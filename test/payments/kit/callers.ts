import { randomUUID } from 'node:crypto';
import { basicAuthorization, octoSignatures, stripeSignature, type ProviderCode } from '#payments';
import { schemaFile, type Exchange } from '../../../libs/payments/src/testing/provider-schemas.js';
import { PRICE, type PaymentsFixture } from '../payments-fixture.js';

export type Call = () => Promise<{ status: number; body: unknown }>;

/** Faults in the number and order of a provider's calls, as its simulator plays them. */
export const CALL_FAULTS = ['duplicate', 'reorder', 'stale_webhook'] as const;

/** A provider that calls us, as the suite of callbacks needs to know it (docs/payments/new-provider.md). */
export interface ProviderCaller {
  name: string;
  provider: ProviderCode;
  /** What a client sends to pay this way. */
  payment: Record<string, unknown>;
  /** The account's settings for it. */
  choose?(fixture: PaymentsFixture): Promise<void>;
  /** The customer's own step, where it is not a page that the payment leads to. */
  press?(fixture: PaymentsFixture, paymentId: string): Promise<void>;
  /** Of CALL_FAULTS those that its protocol cannot have, each with the reason. */
  cannot?: Partial<Record<(typeof CALL_FAULTS)[number], string>>;
  /** The HTTP status of what is turned away, or all of them. */
  refusedStatus: number | readonly number[];
  /** Where its protocol has one status for all: whether an answer turns the call away. */
  isRefused?(body: Record<string, unknown>): boolean;
  /** Calls whose caller has not proven who it is, or that cannot be about this payment. */
  forged(fixture: PaymentsFixture, paymentId: string): Call[];
  /** A well-made call about this order. */
  about(fixture: PaymentsFixture, paymentId: string, amountTiyin: number): Call;
  /** All well-made calls, one after the other, by which the order is paid with this sum, or said to be. */
  take(fixture: PaymentsFixture, paymentId: string, by: { amount: number; atMs: number }): Promise<void>;
  /** Its calls name a time that is not held against our clock; why. Absent: they name none, or a wrong one is forged. */
  openClock?: string;
  /** A well-made call that claims that the order is paid. */
  lie(fixture: PaymentsFixture, paymentId: string): Call;
  /** Calls and answers of the documents. */
  examples(): Exchange[];
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Call {
  return async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text };
  };
}

const UZUM_AUTH = basicAuthorization('uzum', 'uzum-password-0001');
const uzumUrl = ({ accounts }: PaymentsFixture): string => accounts.uzum?.url ?? '';
const uzumBody = (more: object): object => ({ serviceId: 101202, timestamp: Date.now(), ...more });
const uzumConfirmation = (transId: string): object => ({ transId, paymentSource: 'UZCARD', phone: '998901234567' });
const uzumCall = (fixture: PaymentsFixture, operation: string, body: object): Call =>
  post(`${uzumUrl(fixture)}/${operation}`, uzumBody(body), { authorization: UZUM_AUTH });

const UZUM_MERCHANT: ProviderCaller = {
  ...{ name: 'uzum merchant', provider: 'uzum', payment: { provider: 'uzum' }, refusedStatus: 400 },
  choose: (fixture) => fixture.choose('uzum', { page: 'merchant' }),
  forged: (fixture, id) => {
    const url = `${uzumUrl(fixture)}/create`;
    const creation = { transId: randomUUID(), params: { order_id: id }, amount: 112_000 };
    return [
      post(url, uzumBody(creation)),
      post(url, uzumBody(creation), { authorization: basicAuthorization('uzum', 'wrong') }),
      post(url, { ...uzumBody(creation), serviceId: 1 }, { authorization: UZUM_AUTH }),
      post(url, '{"half": ', { authorization: UZUM_AUTH }),
      post(`${uzumUrl(fixture)}/pay`, uzumBody(creation), { authorization: UZUM_AUTH }),
    ];
  },
  about: (fixture, id, amount) =>
    uzumCall(fixture, 'create', { transId: randomUUID(), params: { order_id: id }, amount }),
  take: async (fixture, id, { amount, atMs: timestamp }) => {
    const transId = randomUUID();
    await uzumCall(fixture, 'create', { transId, params: { order_id: id }, amount, timestamp })();
    await uzumCall(fixture, 'confirm', { ...uzumConfirmation(transId), timestamp })();
  },
  openClock: 'timestamp has no published age: a transaction lives for thirty minutes by our own clock',
  // Confirming what was never created.
  lie: (fixture) => uzumCall(fixture, 'confirm', uzumConfirmation(randomUUID())),
  examples: () => examplesOf('uzum', ['/check', '/create', '/confirm', '/reverse']),
};

const UZUM_CHECKOUT: ProviderCaller = {
  ...{ name: 'uzum checkout', provider: 'uzum', payment: { provider: 'uzum' }, refusedStatus: 403 },
  choose: (fixture) => fixture.choose('uzum', { page: 'checkout', pay_type: 'ONE_STEP' }),
  // There is no signature to forge: what cannot name an order is turned away.
  forged: (fixture) => [
    post(uzumUrl(fixture), { orderId: 'x', operationState: 'SUCCESS', operationType: 'AUTHORIZE' }),
    post(uzumUrl(fixture), '{"half": '),
    post(uzumUrl(fixture), []),
  ],
  about: (fixture, id) => uzumCallback(fixture, id, 'AUTHORIZE'),
  // Its callbacks name no sum.
  take: async (fixture, id) => void (await uzumCallback(fixture, id, 'COMPLETE')()),
  lie: (fixture, id) => uzumCallback(fixture, id, 'COMPLETE'),
  examples: () => examplesOf('uzum', ['']),
};

function uzumCallback(fixture: PaymentsFixture, paymentId: string, operationType: string): Call {
  return async () => {
    const [known] = await fixture.simulated(paymentId);
    const orderId = known?.id ?? randomUUID();
    const body = { orderId, operationState: 'SUCCESS', operationType, cardType: 2, orderNumber: paymentId };
    return post(uzumUrl(fixture), body)();
  };
}

const OCTO_SECRET = 'octo-secret';
const octoUrl = ({ accounts }: PaymentsFixture): string => accounts.octo?.url ?? '';

export function octoBody(
  uuid: string,
  ref: string,
  { secret = OCTO_SECRET, amount = PRICE } = {},
): Record<string, unknown> {
  const signed = { uuid, status: 'succeeded', hashKey: randomUUID() };
  const [signature] = octoSignatures(signed, { kind: 'nested', secret });
  const named = { shop_transaction_id: ref, octo_payment_UUID: uuid, status: signed.status };
  return { ...named, signature, hash_key: signed.hashKey, total_sum: amount / 100, refunded_sum: 0 };
}

function octoCall(fixture: PaymentsFixture, paymentId: string, amount = PRICE): Call {
  return async () => {
    const [known] = await fixture.simulated(paymentId);
    return post(octoUrl(fixture), octoBody(known?.id ?? randomUUID(), paymentId, { amount }))();
  };
}

const OCTO: ProviderCaller = {
  ...{ name: 'octo', provider: 'octo', payment: { provider: 'octo' }, refusedStatus: 403 },
  forged: (fixture, id) => {
    const made = octoBody(randomUUID(), id);
    return [
      post(octoUrl(fixture), octoBody(randomUUID(), id, { secret: 'another-secret' })),
      post(octoUrl(fixture), { ...made, status: 'canceled' }),
      post(octoUrl(fixture), { ...made, octo_payment_UUID: randomUUID() }),
      post(octoUrl(fixture), { ...made, signature: undefined }),
      post(octoUrl(fixture), '{"half": '),
    ];
  },
  about: octoCall,
  take: async (fixture, id, { amount }) => void (await octoCall(fixture, id, amount)()),
  lie: (fixture, id) => octoCall(fixture, id),
  examples: () => examplesOf('octo', ['']).map((example) => ({ ...example, status: 200, answer: {} })),
};

const stripeUrl = ({ accounts }: PaymentsFixture): string => accounts.stripe?.url ?? '';
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

function stripeEvent(id: string, ref: string, amount = PRICE): string {
  const intent = {
    ...{
      id,
      object: 'payment_intent',
      amount,
      currency: 'uzs',
      status: 'succeeded',
      capture_method: 'manual',
    },
    ...{ created: nowSeconds(), livemode: false, payment_method_types: ['card'], metadata: { our_ref: ref } },
  };
  const named = { id: `evt_${randomUUID()}`, object: 'event', type: 'payment_intent.succeeded', created: nowSeconds() };
  return JSON.stringify({ ...named, livemode: false, pending_webhooks: 1, data: { object: intent } });
}

function stripeHeader(body: string, more: { secret?: string; atSeconds?: number } = {}): Record<string, string> {
  const { secret = 'whsec_test_0001', atSeconds = nowSeconds() } = more;
  return { 'stripe-signature': `t=${String(atSeconds)},v1=${stripeSignature(secret, { atSeconds, body })}` };
}

function stripeCall(fixture: PaymentsFixture, paymentId: string, amount = PRICE): Call {
  return async () => {
    const [known] = await fixture.simulated(paymentId);
    const body = stripeEvent(known?.id ?? 'pi_none', paymentId, amount);
    return post(stripeUrl(fixture), body, stripeHeader(body))();
  };
}

const STRIPE: ProviderCaller = {
  ...{ name: 'stripe', provider: 'stripe', refusedStatus: 403 },
  payment: { provider: 'stripe', token: 'pm_3ds_0001', return_url: 'https://shop.example/back' },
  forged: (fixture, id) => {
    const body = stripeEvent('pi_1', id);
    const url = stripeUrl(fixture);
    return [
      post(url, body),
      post(url, body, stripeHeader(body, { secret: 'whsec_another' })),
      // A call that was recorded, and a clock that is wrong: each by ten minutes.
      post(url, body, stripeHeader(body, { atSeconds: nowSeconds() - 600 })),
      post(url, body, stripeHeader(body, { atSeconds: nowSeconds() + 600 })),
      post(url, `${body} `, stripeHeader(body)),
      post(url, '{"half": ', stripeHeader('{"half": ')),
    ];
  },
  about: stripeCall,
  take: async (fixture, id, { amount }) => void (await stripeCall(fixture, id, amount)()),
  lie: (fixture, id) => stripeCall(fixture, id),
  examples: () => examplesOf('stripe', ['']).map((example) => ({ ...example, status: 200, answer: {} })),
};

/** What the schema file gives as examples of these calls. */
export function examplesOf(provider: ProviderCode, paths: readonly string[]): Exchange[] {
  const file = schemaFile(provider);
  return file['x-calls']
    .filter((call) => call.by === 'provider' && paths.includes(call.path))
    .flatMap(({ path, request }) => {
      const examples = (request === null ? [] : file.$defs[request]?.['examples']) as unknown[] | undefined;
      return (examples ?? []).map((example): Exchange => {
        const said = { provider, by: 'provider', method: 'POST', path, request: example } as const;
        return { ...said, status: 400, answer: { serviceId: 1, timestamp: 1, status: 'FAILED', errorCode: '10007' } };
      });
    });
}

/** Providers whose calls are hints, or who drive by the shared transactions; the others: first-callers.ts, pageless-callers.ts. */
export const CALLERS: readonly ProviderCaller[] = [UZUM_MERCHANT, UZUM_CHECKOUT, OCTO, STRIPE];
