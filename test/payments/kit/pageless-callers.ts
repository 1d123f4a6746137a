import { atmosSign, basicAuthorization } from '#payments';
import { PRICE, type PaymentsFixture } from '../payments-fixture.js';
import { examplesOf, post, type Call, type ProviderCaller } from './callers.js';

/** Providers whose customers see no page with an address of ours: ATMOS's name a code, Paynet's a payment at a terminal. */

const atmosUrl = ({ accounts }: PaymentsFixture): string => accounts.atmos?.url ?? '';

/** A callback of ATMOS's. @param more fields that are put over the signed ones */
export function atmosCall(
  fixture: PaymentsFixture,
  about: { transactionId: string; invoice: string; amount?: number; storeId?: string; key?: string },
  more: Record<string, unknown> = {},
): Call {
  const { transactionId, invoice, amount = PRICE, storeId = '1', key = 'atmos-key' } = about;
  const signed = { storeId, transactionId, invoice, amount: String(amount) };
  const named = { store_id: storeId, transaction_id: transactionId, invoice, amount: signed.amount };
  return post(atmosUrl(fixture), { ...named, sign: atmosSign(signed, key), ...more });
}

async function atmosIdOf(fixture: PaymentsFixture, paymentId: string): Promise<string> {
  const [known] = await fixture.simulated(paymentId);
  return known?.id ?? '987654320';
}

/** The callbacks that prove nothing, all about this transaction. */
export function atmosForged(fixture: PaymentsFixture, about: { transactionId: string; invoice: string }): Call[] {
  return [
    atmosCall(fixture, { ...about, key: 'another-key' }),
    atmosCall(fixture, about, { amount: '1' }),
    atmosCall(fixture, about, { transaction_id: '1' }),
    atmosCall(fixture, { ...about, storeId: '2' }),
    atmosCall(fixture, about, { sign: undefined }),
    post(atmosUrl(fixture), '{"half": '),
  ];
}

const atmosAbout = (fixture: PaymentsFixture, invoice: string, amount: number): Call => {
  return async () => atmosCall(fixture, { transactionId: await atmosIdOf(fixture, invoice), invoice, amount })();
};

export const ATMOS: ProviderCaller = {
  ...{ name: 'atmos', provider: 'atmos', payment: { provider: 'atmos', token: 'otp-token' }, refusedStatus: 403 },
  choose: (fixture) => fixture.choose('atmos', { card_code: 'customer', mode: 'charge' }),
  press: async (fixture, id) => {
    const { status } = await fixture.ask('POST', `/v1/payments/${id}/confirm`, { otp: '112233' });
    expect(status).toBeLessThan(300);
  },
  forged: (fixture, invoice) => atmosForged(fixture, { transactionId: '987654320', invoice }),
  about: atmosAbout,
  take: async (fixture, id, { amount }) => void (await atmosAbout(fixture, id, amount)()),
  lie: (fixture, id) => atmosAbout(fixture, id, PRICE),
  examples: () =>
    examplesOf('atmos', ['']).map((example) => ({ ...example, status: 200, answer: { status: 1, message: 'OK' } })),
};

export const PAYNET_AUTHORIZATION = basicAuthorization('paynet', 'paynet-password-0001');
let lastTransactionId = 5_000;

/** Paynet's number of a transaction that it has not named before. */
export const nextPaynetId = (): number => (lastTransactionId += 1);

/** JSON-RPC as Paynet calls. */
export function paynetRequest(method: string, params: object): Record<string, unknown> {
  return { jsonrpc: '2.0', id: 1, method, params: { serviceId: 7, ...params } };
}

export function paynetCall(
  fixture: PaymentsFixture,
  request: Record<string, unknown> | string,
  authorization: string | null = PAYNET_AUTHORIZATION,
): Call {
  return post(fixture.accounts.paynet?.url ?? '', request, authorization === null ? {} : { authorization });
}

interface PaynetPayment {
  amount?: number;
  transactionId?: number;
  time?: string;
  serviceId?: number;
}

/** What a customer at a terminal has paid. */
export function paynetPayment(orderId: string, more: PaynetPayment = {}): Record<string, unknown> {
  const params = { amount: PRICE, fields: { order_id: orderId }, time: '2026-01-02 08:04:05', ...more };
  return paynetRequest('PerformTransaction', { transactionId: nextPaynetId(), ...params });
}

/** HTTP 200 whatever is answered, except to a caller that it does not know. */
export const PAYNET: ProviderCaller = {
  ...{ name: 'paynet', provider: 'paynet', payment: { provider: 'paynet' }, refusedStatus: [200, 401] },
  isRefused: (body) => 'error' in body,
  press: (fixture, id) =>
    fixture.press(`${fixture.simulatorUrl}/paynet/pay/${id}/${String(PRICE)}`).then(() => undefined),
  forged: (fixture, id) => [
    paynetCall(fixture, paynetPayment(id), null),
    paynetCall(fixture, paynetPayment(id), basicAuthorization('paynet', 'wrong')),
    paynetCall(fixture, paynetPayment(id, { serviceId: 8 })),
    paynetCall(fixture, paynetPayment(id, { amount: PRICE - 1 })),
    // Who has the password is not to change it.
    paynetCall(fixture, paynetRequest('ChangePassword', { newPassword: 'x' })),
    paynetCall(fixture, '{"half": '),
  ],
  about: (fixture, id, amount) => paynetCall(fixture, paynetPayment(id, { amount })),
  take: async (fixture, id, { amount, atMs }) => {
    const time = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
    await paynetCall(fixture, paynetPayment(id, { amount, time }))();
  },
  openClock: 'the one client that names time says nothing of its zone or age; it is kept as it came',
  // The one call that takes money is as true as its password: what it says beside that are questions about what was never paid.
  lie: (fixture) => paynetCall(fixture, paynetRequest('CheckTransaction', { transactionId: nextPaynetId() })),
  examples: () =>
    examplesOf('paynet', ['']).map((example) => ({
      ...{ ...example, status: 200 },
      answer: { jsonrpc: '2.0', id: 1, error: { code: 302, message: 'client' } },
    })),
};

export const PAYNET_AND_ATMOS: readonly ProviderCaller[] = [ATMOS, PAYNET];
