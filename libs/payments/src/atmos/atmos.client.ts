import { basicAuthorization } from '../basic-auth.js';
import type { HttpExchange, HttpRequest } from '../http-exchange.js';
import {
  statusOf,
  unclearIfRefused,
  type CallOutcome,
  type Instrument,
  type NoStatus,
  type PaymentFlow,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
} from '../port.js';
import { integerAt, isObject, objectAt, textAt, type WireObject } from '../wire.js';
import { atmosAnswer, atmosHoldStatus, atmosPaymentStatus, type AtmosAnswer } from './atmos.transform.js';

export interface AtmosClientOptions {
  /** `https://apigw.atmos.uz` */
  apiUrl: string;
  consumerKey: string;
  consumerSecret: string;
  storeId: string;
  terminalId: string;
  holdMinutes: number;
  /** Whether the customer is asked for a code, or the fixed one of a bound card is sent. */
  asksCode: boolean;
}

/** What a bound card is confirmed with, as public clients have it. */
const FIXED_CODE = '111111';
/** A token that ends within this time is replaced before it is used. */
const TOKEN_MARGIN_MS = 60_000;
const DEFAULT_TOKEN_SECONDS = 600;

/** ATMOS: bound cards, charged or held; a transaction is made, given the card, and confirmed by a code. */
export class AtmosClient implements PaymentProvider {
  private token: { value: string; untilMs: number } | null = null;

  constructor(
    private readonly options: AtmosClientOptions,
    private readonly exchange: HttpExchange,
  ) {}

  /** A transaction that is not confirmed takes nothing: it may be made twice. */
  async prepare(order: PaymentOrder, flow: PaymentFlow, { token }: Instrument): Promise<CallOutcome> {
    const common = { amount: order.amountTiyin, account: order.ourRef, store_id: this.storeId };
    if (flow === 'hold') {
      const more = { duration: this.options.holdMinutes, card_token: token ?? '', payment_details: order.description };
      const answer = await this.call('POST', '/hold/create', { ...common, ...more });
      return answer.kind === 'body' ? this.asked(atmosHoldStatus(answer.body, null)) : answer;
    }
    const { terminalId } = this.options;
    const terminal = terminalId === '' ? {} : { terminal_id: terminalId };
    const made = await this.call('POST', '/merchant/pay/create', { ...common, ...terminal, lang: 'ru' });
    if (made.kind !== 'body') return made;
    const id = integerAt(made.body, 'transaction_id');
    if (id === null) return { kind: 'unknown', detail: 'the transaction has no id' };
    const card = { transaction_id: id, store_id: this.storeId, card_token: token ?? '' };
    const given = await this.call('POST', '/merchant/pay/pre-apply', card);
    return given.kind === 'body' ? this.asked(statusOf('pending', { providerRef: String(id) })) : given;
  }

  private asked(status: CallOutcome): CallOutcome {
    const isAsked = this.options.asksCode && status.kind === 'status' && status.status === 'pending';
    return isAsked ? { ...status, nextAction: { type: 'otp' } } : status;
  }

  async authorize(_order: PaymentOrder, { otp }: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    // Whatever its answer before was: where the customer is asked for a code, no other one is sent.
    if (otp === null && this.options.asksCode) return this.asked(statusOf('pending', { providerRef: ref.providerRef }));
    const code = otp ?? FIXED_CODE;
    const answer =
      ref.flow === 'hold'
        ? await this.call('PUT', `/hold/apply/${idOf(ref)}`, { otp: code })
        : await this.call('POST', '/merchant/pay/apply', { ...this.named(ref), otp: code });
    if (answer.kind === 'body') return this.statusIn(ref, answer.body);
    return answer.kind === 'refused' ? this.afterRefusal(ref, answer) : answer;
  }

  /** No list says which errors are final: one is, where the status shows that nothing was taken. */
  private async afterRefusal(ref: PaymentRef, refused: Extract<NoStatus, { kind: 'refused' }>): Promise<CallOutcome> {
    const status = await this.fetchStatus(ref);
    if (status.kind !== 'status' || status.status !== 'pending')
      return { kind: 'unknown', detail: `${refused.code}: ${refused.detail}` };
    return this.options.asksCode ? this.asked(status) : refused;
  }

  async capture(ref: PaymentRef): Promise<CallOutcome> {
    const answer = await this.call('POST', `/hold/${idOf(ref)}`, { amount: ref.amountTiyin });
    return answer.kind === 'body' ? atmosHoldStatus(answer.body, ref.providerRef) : unclearIfRefused(answer);
  }

  async void(ref: PaymentRef): Promise<CallOutcome> {
    if (ref.flow === 'hold') {
      const answer = await this.call('DELETE', `/hold/${idOf(ref)}`, { send_cancel_sms: false });
      return answer.kind === 'body' ? atmosHoldStatus(answer.body, ref.providerRef) : unclearIfRefused(answer);
    }
    // A transaction that waits for its code takes nothing without us.
    const status = await this.fetchStatus(ref);
    return status.kind === 'status' && status.status === 'pending' ? statusOf('voided') : status;
  }

  /** By the id of its success, which only a reading names. */
  async refund(ref: PaymentRef): Promise<CallOutcome> {
    const read = await this.call('POST', '/merchant/pay/get', this.named(ref));
    if (read.kind !== 'body') return { kind: 'unsent', detail: 'the transaction could not be read' };
    const before = atmosPaymentStatus(read.body, ref.providerRef);
    const success = integerAt(objectAt(read.body, 'store_transaction'), 'success_trans_id');
    if (before.status !== 'captured' || success === null) return before;
    const body = { transaction_id: success, reason: `Refund of ${ref.ourRef}` };
    const answer = await this.call('POST', '/merchant/pay/reverse', body);
    if (answer.kind !== 'body') return unclearIfRefused(answer);
    // Taken is not done: the status says when the money is back.
    const after = await this.fetchStatus(ref);
    const isBack = after.kind === 'status' && after.status === 'refunded';
    return isBack ? after : { kind: 'unknown', detail: 'the reversal is not shown yet' };
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    if (ref.providerRef === null) return statusOf('not_found');
    const answer =
      ref.flow === 'hold'
        ? await this.call('GET', `/hold/${idOf(ref)}`)
        : await this.call('POST', '/merchant/pay/get', this.named(ref));
    return answer.kind === 'body' ? this.statusIn(ref, answer.body) : unclearIfRefused(answer);
  }

  private statusIn(ref: PaymentRef, body: WireObject): CallOutcome {
    return ref.flow === 'hold' ? atmosHoldStatus(body, ref.providerRef) : atmosPaymentStatus(body, ref.providerRef);
  }

  private named(ref: PaymentRef): WireObject {
    return { store_id: this.storeId, transaction_id: Number(ref.providerRef) };
  }

  private async call(method: HttpRequest['method'], path: string, body?: WireObject): Promise<AtmosAnswer> {
    const token = await this.currentToken();
    if (typeof token !== 'string') return token;
    const headers = { authorization: `Bearer ${token}` };
    const url = `${this.options.apiUrl}${path}`;
    const answer = await this.exchange({ method, url, headers, ...(body && { body }) });
    if (answer.kind === 'answered' && answer.status === 401) {
      // Refused before anything was read: the next try brings a new token.
      this.token = null;
      return { kind: 'unsent', detail: 'the token was refused' };
    }
    return atmosAnswer(answer);
  }

  private async currentToken(): Promise<string | Extract<AtmosAnswer, { kind: 'unsent' }>> {
    if (this.token && this.token.untilMs > Date.now() + TOKEN_MARGIN_MS) return this.token.value;
    const { apiUrl, consumerKey, consumerSecret } = this.options;
    const answer = await this.exchange({
      ...{ method: 'POST', url: `${apiUrl}/token`, form: 'grant_type=client_credentials' },
      headers: { authorization: basicAuthorization(consumerKey, consumerSecret) },
    });
    if (answer.kind !== 'answered') return { kind: 'unsent', detail: `no token: ${answer.detail}` };
    const body = isObject(answer.body) ? answer.body : {};
    const value = textAt(body, 'access_token');
    if (answer.status !== 200 || value === null)
      return { kind: 'unsent', detail: `no token: HTTP ${String(answer.status)}` };
    const seconds = integerAt(body, 'expires_in') ?? DEFAULT_TOKEN_SECONDS;
    this.token = { value, untilMs: Date.now() + seconds * 1_000 };
    return value;
  }

  private get storeId(): number {
    return Number(this.options.storeId);
  }
}

function idOf(ref: PaymentRef): string {
  return encodeURIComponent(ref.providerRef ?? '');
}
