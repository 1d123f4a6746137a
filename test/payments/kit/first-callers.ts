import { randomInt, randomUUID } from 'node:crypto';
import { basicAuthorization, clickSignature, multicardSuccessSign, multicardWebhookSign, tiyinToSom } from '#payments';
import { PRICE, type PaymentsFixture } from '../payments-fixture.js';
import { anId, PAYME_AUTHORIZATION } from '../provider-callers.js';
import { post, type ProviderCaller } from './callers.js';

const HOUR_MS = 3_600_000;

function paymeCall(
  { accounts }: PaymentsFixture,
  call: { method: string; params: object },
  authorization = PAYME_AUTHORIZATION,
) {
  return post(accounts.payme?.url ?? '', { ...call, id: 1 }, { authorization });
}

const creation = (orderId: string, amount: number, time = Date.now()) => ({
  method: 'CreateTransaction',
  params: { id: anId(), time, amount, account: { order_id: orderId } },
});

/** Payme's Merchant API: HTTP 200 whatever is answered. */
const PAYME: ProviderCaller = {
  ...{ name: 'payme merchant', provider: 'payme', payment: { provider: 'payme' }, refusedStatus: 200 },
  isRefused: (body) => 'error' in body,
  forged: (fixture, id) => [
    paymeCall(fixture, creation(id, PRICE), ''),
    paymeCall(fixture, creation(id, PRICE), basicAuthorization('Paycom', 'another-key')),
    paymeCall(fixture, creation(id, PRICE - 1)),
    // A call of yesterday.
    paymeCall(fixture, creation(id, PRICE, Date.now() - 13 * HOUR_MS)),
    post(fixture.accounts.payme?.url ?? '', '{"half": ', { authorization: PAYME_AUTHORIZATION }),
  ],
  about: (fixture, id, amount) => paymeCall(fixture, creation(id, amount)),
  take: async (fixture, orderId, { amount, atMs }) => {
    const { method, params } = creation(orderId, amount, atMs);
    await paymeCall(fixture, { method, params })();
    await paymeCall(fixture, { method: 'PerformTransaction', params: { id: params.id } })();
  },
  lie: (fixture) => paymeCall(fixture, { method: 'PerformTransaction', params: { id: anId() } }),
  examples: () => [],
};

interface ClickFields {
  action: '0' | '1';
  amount?: number;
  secret?: string;
  /** By Click's clock. */
  atMs?: number;
  /** One try of the customer: its Complete names it as its Prepare did. */
  trans?: string;
  prepareId?: string;
  more?: Record<string, string>;
}

const anAttempt = (): string => String(randomInt(1_000_000, 2_000_000_000));

function clickCall({ accounts }: PaymentsFixture, orderId: string, said: ClickFields) {
  const { action, amount = PRICE, secret = 'SECRET123', atMs = Date.now(), trans = anAttempt(), more = {} } = said;
  const { prepareId = '1' } = said;
  const signTime = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
  const signed = {
    ...{
      clickTransId: trans,
      serviceId: '12345',
      merchantTransId: orderId,
      amount: tiyinToSom(amount),
      action,
      signTime,
    },
    merchantPrepareId: action === '1' ? prepareId : null,
  };
  const form = new URLSearchParams({
    ...{ click_trans_id: trans, service_id: '12345', click_paydoc_id: `7${trans}`, merchant_trans_id: orderId, action },
    ...{ amount: signed.amount, error: '0', error_note: 'Success', sign_time: signTime },
    ...(action === '1' && { merchant_prepare_id: prepareId }),
    ...{ sign_string: clickSignature(signed, secret), ...more },
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return post(accounts.click?.url ?? '', form.toString(), headers);
}

/** Click's SHOP API: HTTP 200 whatever is answered. */
const CLICK: ProviderCaller = {
  ...{ name: 'click shop', provider: 'click', payment: { provider: 'click' }, refusedStatus: 200 },
  isRefused: (body) => body['error'] !== 0,
  forged: (fixture, id) => [
    clickCall(fixture, id, { action: '0', secret: 'another-secret' }),
    clickCall(fixture, id, { action: '0', more: { amount: '1.00' } }),
    clickCall(fixture, id, { action: '0', amount: PRICE - 100 }),
    clickCall(fixture, id, { action: '0', more: { service_id: '1' } }),
    clickCall(fixture, id, { action: '0', more: { sign_string: '' } }),
    // Of another moment than the one that was signed.
    clickCall(fixture, id, { action: '0', more: { sign_time: '2026-01-02 08:04:05' } }),
    post(fixture.accounts.click?.url ?? '', '{"half": '),
  ],
  about: (fixture, id, amount) => clickCall(fixture, id, { action: '0', amount }),
  take: async (fixture, id, { amount, atMs }) => {
    const trans = anAttempt();
    const { body } = await clickCall(fixture, id, { action: '0', amount, atMs, trans })();
    const { merchant_prepare_id: number } = body as { merchant_prepare_id?: number | null };
    const prepareId = String(number ?? 1);
    await clickCall(fixture, id, { action: '1', amount, atMs, trans, prepareId })();
  },
  openClock: 'sign_time is a part of the signature and has no published age; a repeat is known by click_trans_id',
  // Completing what was never prepared.
  lie: (fixture, id) => clickCall(fixture, id, { action: '1' }),
  examples: () => [],
};

interface MulticardFields {
  uuid: string;
  amount?: number;
  secret?: string;
}

function multicardCall({ accounts }: PaymentsFixture, orderId: string, said: MulticardFields, more: object = {}) {
  const { uuid, amount = PRICE, secret = 'multi-secret' } = said;
  const sign = multicardSuccessSign({ uuid, storeId: '6', invoiceId: orderId, amount: String(amount) }, secret);
  return post(accounts.multicard?.url ?? '', {
    ...{ store_id: 6, amount, invoice_id: orderId, billing_id: `b${uuid}`, uuid, ps: 'uzcard', sign },
    ...{ payment_time: '2026-08-22 14:03:11', phone: '998901234567', card_pan: '860030******5959' },
    ...{ card_token: 'token-0001', receipt_url: 'https://checkout.multicard.uz/check/1', ...more },
  });
}

async function idOf(fixture: PaymentsFixture, orderId: string): Promise<string> {
  const [known] = await fixture.simulated(orderId);
  return known?.id ?? randomUUID();
}

/** Multicard's `success` asks whether it may keep the money; its webhook is a hint. */
const MULTICARD: ProviderCaller = {
  ...{ name: 'multicard', provider: 'multicard', payment: { provider: 'multicard' }, refusedStatus: 403 },
  forged: (fixture, id) => [
    multicardCall(fixture, id, { uuid: randomUUID(), secret: 'another-secret' }),
    multicardCall(fixture, id, { uuid: randomUUID() }, { amount: 1 }),
    multicardCall(fixture, id, { uuid: randomUUID() }, { sign: '' }),
    post(fixture.accounts.multicard?.url ?? '', '{"half": '),
  ],
  cannot: { reorder: 'one call asks for the money; the hint before it is stale_webhook' },
  about: (fixture, id, amount) => async () => multicardCall(fixture, id, { uuid: await idOf(fixture, id), amount })(),
  take: async (fixture, id, { amount }) =>
    void (await multicardCall(fixture, id, { uuid: await idOf(fixture, id), amount })()),
  lie: (fixture, id) => async () => {
    const uuid = await idOf(fixture, id);
    const sign = multicardWebhookSign({ uuid, storeId: null, invoiceId: id, amount: String(PRICE) }, 'multi-secret');
    return post(fixture.accounts.multicard?.url ?? '', {
      ...{ uuid, amount: PRICE, invoice_id: id, status: 'success', billing_id: null, refund_time: null, sign },
      ...{ payment_time: '2026-08-22 14:03:11', phone: '998901234567', card_pan: '860030******5959', ps: 'uzcard' },
      ...{ card_token: null, receipt_url: null },
    })();
  },
  examples: () => [],
};

export const FIRST_CALLERS: readonly ProviderCaller[] = [PAYME, CLICK, MULTICARD];
