import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { basicAuthorization, isObject } from '#payments';
import type { Faults } from './faults.js';
import { callUntil, type MerchantAnswer } from './merchant-call.js';
import { PaymeCards } from './payme-cards.js';
import { capture, giveBack, type Money, type SimLines, type SimPayment } from './money.js';
import type { Paid } from './pages.js';
import type { Parts } from './parts.js';

interface Receipt {
  payment: SimPayment;
  hold: boolean;
  state: number;
  createTime: number;
  payTime: number;
  cancelTime: number;
  /** Given when Payme is to register the receipt. */
  detail: unknown;
  account: Params;
  description: string;
}

/** ISO 4217. */
const CURRENCIES: Readonly<Record<string, number>> = { UZS: 860, USD: 840 };

type Params = Record<string, unknown>;
type RpcResult = { result: unknown } | { error: { code: number; message: string } };

/** Payme's Subscribe API: cards.* for the merchant's page, receipts.* for its server. */
export function addPaymeSubscribe(
  server: FastifyInstance,
  { money, faults }: Pick<Parts, 'money' | 'faults'>,
  fiscal: PaymeFiscal,
): void {
  const receipts = new Map<string, Receipt>();
  const cards = new PaymeCards();
  server.post('/payme/api', (request) => {
    const { id, method, params } = request.body as { id: number; method: string; params: Params };
    const auth = String(request.headers['x-auth'] ?? '');
    if (method.startsWith('cards.')) return { jsonrpc: '2.0', id, ...cards.handle(method, params, auth) };
    const isKnown = /^[^:]+:.+/.test(auth);
    const answer = isKnown ? handle(method, params) : failed(-32504, 'privilege');
    const touched = receipts.get(String(params['id']));
    if (touched) fiscal.follow(touched.payment, touched.detail);
    return { jsonrpc: '2.0', id, ...answer };
  });

  function handle(method: string, params: Params): RpcResult {
    if (method === 'receipts.create') return create(params, money, receipts);
    const found = receipts.get(String(params['id']));
    if (!found) return failed(-31003, 'no such receipt');
    switch (method) {
      case 'receipts.pay':
        return cards.isGood(params['token']) ? pay(found, params, faults) : failed(-31400, 'the card is not verified');
      case 'receipts.confirm_hold':
        return confirm(found);
      case 'receipts.cancel':
        return cancel(found);
      case 'receipts.get':
        return shown(found);
      case 'receipts.check':
        return { result: { state: settled(found).state } };
      case 'receipts.set_fiscal_data':
        found.payment.link = String((params['fiscal_data'] as Params)['qr_code_url']);
        return { result: { success: true } };
      default:
        return failed(-32601, method);
    }
  }
}

function create(params: Params, money: Money, receipts: Map<string, Receipt>): RpcResult {
  const ourRef = String(Object.values(params['account'] as Params)[0]);
  const id = randomBytes(12).toString('hex');
  const payment = money.open({ provider: 'payme', id, ourRef, amountTiyin: Number(params['amount']) });
  const receipt = {
    payment,
    hold: params['hold'] === true,
    state: 0,
    createTime: Date.now(),
    payTime: 0,
    cancelTime: 0,
    detail: params['detail'] ?? null,
    account: params['account'] as Params,
    description: typeof params['description'] === 'string' ? params['description'] : '',
  };
  receipts.set(id, receipt);
  return shown(receipt);
}

function pay(receipt: Receipt, params: Params, faults: Faults): RpcResult {
  if (receipt.state !== 0) return failed(-31008, 'not payable');
  if (faults.draw(['decline'])) return failed(-31630, 'the card was refused');
  // Only with the flag in both calls.
  const isHold = receipt.hold && params['hold'] === true;
  if (isHold) {
    receipt.state = 5;
    receipt.payment.status = 'held';
    const rule = faults.draw(['expire_hold']);
    if (rule) faults.later(() => release(receipt), rule.delay_ms ?? 0);
  } else {
    receipt.state = 4;
    receipt.payTime = Date.now();
    capture(receipt.payment);
  }
  return shown(receipt);
}

/** The hold has ended by itself; whether a real one does so, and when, is not documented. */
function release(receipt: Receipt): void {
  if (receipt.state !== 5) return;
  receipt.state = 50;
  receipt.cancelTime = Date.now();
  giveBack(receipt.payment);
}

function confirm(receipt: Receipt): RpcResult {
  if (receipt.state !== 5) return failed(-31008, 'not held');
  receipt.state = 4;
  receipt.payTime = Date.now();
  capture(receipt.payment);
  return shown(receipt);
}

function cancel(receipt: Receipt): RpcResult {
  if (receipt.state === 50 || receipt.state === 21) return failed(-31007, 'cancelled before');
  receipt.cancelTime = Date.now();
  receipt.state = receipt.state === 0 ? 50 : 21;
  giveBack(receipt.payment);
  return shown(receipt);
}

/** A cancel of money is queued; a later read finds it done. */
function settled(receipt: Receipt): Receipt {
  if (receipt.state === 21) receipt.state = 50;
  return receipt;
}

function shown(receipt: Receipt): RpcResult {
  const answer = { receipt: documented(receipt) };
  settled(receipt);
  return { result: answer };
}

/** All fields of the documentation's own example. */
function documented({ payment, state, createTime, payTime, cancelTime, ...rest }: Receipt): Params {
  return {
    ...{ _id: payment.id, create_time: createTime, pay_time: payTime, cancel_time: cancelTime, state, type: 2 },
    ...{ external: false, operation: -1, category: null, error: null, description: rest.description },
    ...{ detail: rest.detail, amount: payment.amountTiyin, commission: 0 },
    currency: CURRENCIES[payment.currency ?? 'UZS'] ?? 0,
    account: Object.entries(rest.account).map(([name, value]) => ({ name, title: name, value, main: true })),
    ...{ card: null, merchant: {}, meta: null, processing_id: null },
  };
}

function failed(code: number, message: string): RpcResult {
  return { error: { code, message } };
}

/** Payme's own side of a payment on its page: calls the merchant as its Merchant API says. */
export class PaymeDriver {
  private lastId = 0;

  constructor(
    private readonly parts: Parts,
    private readonly fiscal: PaymeFiscal,
  ) {}

  /** Check, Create, Perform; a call without an answer is repeated, as often as Payme would. */
  async pay({ ourRef, amountTiyin }: { ourRef: string; amountTiyin: number }): Promise<Paid> {
    const { money, faults, merchant } = this.parts;
    const account = { [merchant.account('payme').account_field]: ourRef };
    const checked = await this.call('CheckPerformTransaction', { amount: amountTiyin, account });
    if (!isAllowed(checked)) return { paid: false, result: checked };
    const id = randomBytes(12).toString('hex');
    const payment = money.open({ provider: 'payme', id, ourRef, amountTiyin });
    // Overtakes the one that makes it.
    if (faults.draw(['reorder'])) await this.call('PerformTransaction', { id });
    const created = await this.call('CreateTransaction', { id, time: Date.now(), amount: amountTiyin, account });
    if (stateOf(created) !== 1) {
      payment.status = 'declined';
      return { paid: false, result: created };
    }
    payment.status = 'reserved';
    const performed = await this.call('PerformTransaction', { id });
    if (stateOf(performed) === 2) {
      capture(payment);
      // Sent long ago and on its way until now.
      if (faults.draw(['stale_webhook']))
        await this.call('CreateTransaction', { id, time: Date.now(), amount: amountTiyin, account });
      this.fiscal.follow(payment, (checked?.['result'] as Params)['detail']);
    }
    return { paid: stateOf(performed) === 2, result: performed };
  }

  async cancel(id: string, payment: SimPayment | null, reason = 5): Promise<unknown> {
    const answer = await this.call('CancelTransaction', { id, reason });
    if (payment && (stateOf(answer) ?? 0) < 0) {
      giveBack(payment);
      this.fiscal.follow(payment, null);
    }
    return answer;
  }

  private async call(method: string, params: Params): Promise<Record<string, unknown> | null> {
    const { merchant, faults } = this.parts;
    const { url, key } = merchant.account('payme');
    this.lastId += 1;
    const body = JSON.stringify({ method, params, id: this.lastId });
    const headers = { 'content-type': 'text/json; charset=UTF-8', authorization: basicAuthorization('Paycom', key) };
    if (faults.draw(['duplicate'])) await merchant.call('payme', url, body, headers);
    const answer = await callUntil(isFinal, () => merchant.call('payme', url, body, headers));
    return answer?.body ?? null;
  }
}

/** Payme's register: sells what was given as `detail` once it is paid, refunds it when the money goes back, and notifies the merchant. */
export class PaymeFiscal {
  constructor(private readonly parts: Parts) {}

  follow(payment: SimPayment, detail: unknown): void {
    const [sale, refund] = ['sale', 'refund'].map((type) => payment.documents.find((each) => each.type === type));
    // Some clients send one without lines: there is nothing to sell.
    const isDetailed = isObject(detail) && Array.isArray(detail['items']);
    if (payment.status === 'captured' && !sale && isDetailed) this.register(payment, 'sale', linesOf(detail));
    if (payment.status === 'refunded' && sale && !refund) this.register(payment, 'refund', null);
  }

  private register(payment: SimPayment, type: 'sale' | 'refund', lines: SimLines | null): void {
    const { money, faults } = this.parts;
    const { url } = money.register(payment, type, lines);
    if (faults.draw(['no_fiscal_data'])) return;
    void this.notify(payment.id, type === 'sale' ? 'PERFORM' : 'CANCEL', url);
    if (faults.draw(['duplicate'])) void this.notify(payment.id, type === 'sale' ? 'PERFORM' : 'CANCEL', url);
  }

  private async notify(id: string, type: 'PERFORM' | 'CANCEL', url: string): Promise<void> {
    const { merchant } = this.parts;
    const { payme } = merchant.accounts();
    if (!payme) return;
    const query = new URL(url).searchParams;
    const fiscal_data = {
      ...{ receipt_id: Number(query.get('r')), status_code: 0, message: 'accepted', terminal_id: query.get('t') },
      ...{ fiscal_sign: query.get('s'), qr_code_url: url, date: query.get('c') },
    };
    const body = JSON.stringify({ method: 'SetFiscalData', params: { id, type, fiscal_data }, id: 1 });
    const authorization = basicAuthorization('Paycom', payme.key);
    for (let tries = 0; tries < 20; tries += 1) {
      const answer = await merchant.call('payme', payme.url, body, { 'content-type': 'text/json', authorization });
      if (answer?.body['result'] !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

function linesOf(detail: Params): SimLines {
  const items = detail['items'] as { price: number; count: number; discount?: number }[];
  const totalTiyin = items.reduce((sum, { price, count, discount = 0 }) => sum + price * count - discount, 0);
  return { count: items.length, totalTiyin };
}

/** -32400 and silence are repeated. */
function isFinal(answer: MerchantAnswer | null): boolean {
  if (answer?.status !== 200) return false;
  return (answer.body['error'] as { code?: number } | undefined)?.code !== -32400;
}

function isAllowed(answer: Record<string, unknown> | null): boolean {
  return (answer?.['result'] as { allow?: boolean } | undefined)?.allow === true;
}

function stateOf(answer: Record<string, unknown> | null): number | null {
  return (answer?.['result'] as { state?: number } | undefined)?.state ?? null;
}
