import type { HttpExchange } from '../http-exchange.js';
import {
  statusOf,
  type CallOutcome,
  type FiscalLink,
  type Instrument,
  type PaymentFlow,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
} from '../port.js';
import { integerAt, isObject, objectAt, type WireObject } from '../wire.js';
import { paymeDetail } from './payme-detail.js';
import { paymeFiscalData, paymeReceiptStatus } from './payme.transform.js';

export interface PaymeClientOptions {
  /** `https://checkout.paycom.uz/api` */
  apiUrl: string;
  cashboxId: string;
  key: string;
  /** The field of `account` by which the cashbox names an order. */
  accountField: string;
}

type RpcAnswer =
  | { kind: 'result'; result: unknown }
  | { kind: 'error'; code: number; detail: string }
  | { kind: 'unsent' | 'unknown'; detail: string };

/** Payme's Subscribe API: receipts that are held, confirmed and cancelled. */
export class PaymeClient implements PaymentProvider {
  private lastId = 0;

  constructor(
    private readonly options: PaymeClientOptions,
    private readonly exchange: HttpExchange,
  ) {}

  /** A receipt that is not paid moves no money: it may be made twice. */
  async prepare(order: PaymentOrder, flow: PaymentFlow): Promise<CallOutcome> {
    const answer = await this.call('receipts.create', {
      amount: order.amountTiyin,
      account: { [this.options.accountField]: order.ourRef },
      description: order.description,
      ...(order.lines && { detail: paymeDetail(order.lines) }),
      // Must stand in both calls.
      ...(flow === 'hold' && { hold: true }),
    });
    return outcomeOf(answer);
  }

  async authorize(_order: PaymentOrder, { token, phone }: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    const answer = await this.call('receipts.pay', {
      id: ref.providerRef,
      token,
      ...(phone !== null && { payer: { phone } }),
      ...(ref.flow === 'hold' && { hold: true }),
    });
    if (answer.kind !== 'error') return outcomeOf(answer);
    // The list of codes is not published: an error is a refusal only when the receipt is still unpaid.
    const state = await this.stateOf(ref);
    if (state === 0 || state === 50) return { kind: 'refused', code: String(answer.code), detail: answer.detail };
    return { kind: 'unknown', detail: `error ${String(answer.code)}, receipt in state ${String(state)}` };
  }

  async capture(ref: PaymentRef): Promise<CallOutcome> {
    return clear(await this.call('receipts.confirm_hold', { id: ref.providerRef }));
  }

  /** Unpaid: 50 at once. Held or paid: 21, later 50. */
  async void(ref: PaymentRef): Promise<CallOutcome> {
    return clear(await this.call('receipts.cancel', { id: ref.providerRef }));
  }

  refund(ref: PaymentRef): Promise<CallOutcome> {
    return this.void(ref);
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    if (ref.providerRef === null) return statusOf('not_found');
    return clear(await this.call('receipts.get', { id: ref.providerRef }));
  }

  async attachLink(ref: PaymentRef, link: FiscalLink): Promise<CallOutcome> {
    const params = { id: ref.providerRef, fiscal_data: paymeFiscalData(link) };
    const answer = await this.call('receipts.set_fiscal_data', params);
    if (answer.kind === 'result') return statusOf('captured');
    return answer.kind === 'error' ? refusal(answer) : answer;
  }

  private async stateOf(ref: PaymentRef): Promise<number | null> {
    const answer = await this.call('receipts.check', { id: ref.providerRef });
    if (answer.kind !== 'result') return null;
    return isObject(answer.result) ? integerAt(answer.result, 'state') : null;
  }

  private async call(method: string, params: WireObject): Promise<RpcAnswer> {
    this.lastId += 1;
    const { apiUrl, cashboxId, key } = this.options;
    const body = { id: this.lastId, method, params };
    const headers = { 'x-auth': `${cashboxId}:${key}` };
    const answer = await this.exchange({ method: 'POST', url: apiUrl, headers, body });
    if (answer.kind !== 'answered') return answer;
    if (answer.status !== 200 || !isObject(answer.body))
      return { kind: 'unknown', detail: `HTTP ${String(answer.status)}` };
    if (isObject(answer.body['error'])) {
      const { error } = answer.body;
      return { kind: 'error', code: integerAt(error, 'code') ?? 0, detail: messageOf(error['message']) };
    }
    if (answer.body['result'] === undefined) return { kind: 'unknown', detail: 'neither result nor error' };
    return { kind: 'result', result: answer.body['result'] };
  }
}

/** Refused before anything was done: wrong key, wrong shape. */
const NOT_DONE: ReadonlySet<number> = new Set([-32504, -32600, -32601, -32602, -32700]);

function outcomeOf(answer: RpcAnswer): CallOutcome {
  if (answer.kind === 'error') return refusal(answer);
  if (answer.kind !== 'result') return answer;
  const receipt = objectAt(answer.result, 'receipt');
  if (integerAt(receipt, 'state') === null) return { kind: 'unknown', detail: 'the answer holds no receipt' };
  return paymeReceiptStatus(receipt);
}

/** Of what may have been done before: an error does not say that it was not. */
function clear(answer: RpcAnswer): CallOutcome {
  if (answer.kind !== 'error') return outcomeOf(answer);
  const kind = NOT_DONE.has(answer.code) ? 'unsent' : 'unknown';
  return { kind, detail: `error ${String(answer.code)}: ${answer.detail}` };
}

function refusal({ code, detail }: Extract<RpcAnswer, { kind: 'error' }>): CallOutcome {
  return { kind: 'refused', code: String(code), detail };
}

function messageOf(message: unknown): string {
  if (typeof message === 'string') return message;
  const { en, ru } = isObject(message) ? message : {};
  return typeof en === 'string' ? en : typeof ru === 'string' ? ru : '';
}
