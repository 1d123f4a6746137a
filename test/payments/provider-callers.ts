import { randomBytes } from 'node:crypto';
import { basicAuthorization, clickSignature, multicardSuccessSign, tiyinToSom } from '#payments';
import { PRICE, type PaymentsFixture } from './payments-fixture.js';

export interface Rpc {
  id: number | null;
  result: Record<string, unknown>;
  error: { code: number; message: unknown; data: unknown };
}

export const PAYME_AUTHORIZATION = basicAuthorization('Paycom', 'payme-key');

export const anId = (): string => randomBytes(12).toString('hex');

/** As Payme calls: JSON-RPC, and HTTP 200 whatever is answered. */
export async function payme(
  fixture: PaymentsFixture,
  method: string,
  params: unknown,
  authorization = PAYME_AUTHORIZATION,
): Promise<Rpc> {
  const body = JSON.stringify({ method, params, id: 77 });
  const headers = { 'content-type': 'text/json; charset=UTF-8', authorization };
  const response = await fetch(fixture.accounts.payme?.url ?? '', { method: 'POST', headers, body });
  const answer = (await response.json()) as Rpc;
  expect([response.status, answer.id]).toEqual([200, 77]);
  const call = { provider: 'payme', request: JSON.parse(body), status: response.status, answer } as const;
  if ('result' in answer) fixture.observe(call);
  else fixture.observeRefusal(call);
  return answer;
}

const MAX_ASKED = 20;

/** As Payme asks: again after the answer that we are too slow just now; a fault of ours stays one. */
export async function askPayme(
  fixture: PaymentsFixture,
  method: string,
  params: unknown,
  authorization?: string,
): Promise<Rpc> {
  for (let asked = 1; ; asked += 1) {
    const answer = await payme(fixture, method, params, authorization);
    if (verdictOf(answer) !== -32400 || asked === MAX_ASKED) return answer;
  }
}

/** The result's state, or the error's code. */
export const verdictOf = ({ result, error }: Partial<Rpc>): unknown => error?.code ?? result?.['state'] ?? result;

/** As Click calls: a signed form, and HTTP 200 whatever is answered. `secret` signs with another key. */
export async function click(
  fixture: PaymentsFixture,
  orderId: string,
  more: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const { secret = 'SECRET123', ...fields } = more;
  const { click_trans_id = '900' } = fields;
  // Only Complete names what Prepare was answered with.
  if (fields['action'] === '0') delete fields['merchant_prepare_id'];
  const form: Record<string, string> = {
    // The payment's number is another one than its attempt's.
    ...{ click_trans_id, service_id: '12345', click_paydoc_id: `7${click_trans_id}`, merchant_trans_id: orderId },
    ...{ amount: tiyinToSom(PRICE), action: '0', error: '0', error_note: 'Success' },
    ...{ sign_time: '2026-08-22 14:03:11', ...fields },
  };
  const sign_string = clickSignature(
    {
      ...{ clickTransId: form['click_trans_id'] ?? '', serviceId: form['service_id'] ?? '', merchantTransId: orderId },
      merchantPrepareId: form['action'] === '1' ? (form['merchant_prepare_id'] ?? '') : null,
      ...{ amount: form['amount'] ?? '', action: form['action'] ?? '', signTime: form['sign_time'] ?? '' },
    },
    secret,
  );
  const body = new URLSearchParams({ sign_string, ...form });
  const response = await fetch(fixture.accounts.click?.url ?? '', { method: 'POST', body });
  expect(response.status).toBe(200);
  const answer = (await response.json()) as Record<string, unknown>;
  const call = { provider: 'click', request: Object.fromEntries(body), status: response.status, answer } as const;
  if (answer['error'] === 0) fixture.observe(call);
  else fixture.observeRefusal(call);
  return answer;
}

/** Multicard's question whether it may keep the money. */
export async function multicard(
  fixture: PaymentsFixture,
  call: { uuid: string; orderId: string; amount?: number; storeId?: string; secret?: string },
): Promise<[status: number, success: unknown]> {
  const { uuid, orderId, amount = PRICE, storeId = '6', secret = 'multi-secret' } = call;
  const signed = { uuid, storeId, invoiceId: orderId, amount: String(amount) };
  const sign = multicardSuccessSign(signed, secret);
  const request = {
    ...{ store_id: Number(storeId), amount, invoice_id: orderId, billing_id: `b${uuid}`, uuid, ps: 'uzcard', sign },
    ...{ payment_time: '2026-08-22 14:03:11', phone: '998901234567', card_pan: '860030******5959' },
    ...{ card_token: 'token-0001', receipt_url: 'https://checkout.multicard.uz/check/1' },
  };
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(request) };
  const response = await fetch(fixture.accounts.multicard?.url ?? '', init);
  const answer = (await response.json()) as { success: unknown };
  const asked = { provider: 'multicard', request, status: response.status, answer } as const;
  if (answer.success === true) fixture.observe(asked);
  // A forged call is none of Multicard's: what it is answered stands in no document.
  else if (response.status !== 403) fixture.observeRefusal(asked);
  return [response.status, answer.success];
}
