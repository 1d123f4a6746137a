import { tashkentDateTime } from '#fiscal-domain';
import { unsayable, type FiscalLines, type WantedDocument } from '../fiscal.js';
import type { HttpExchange, HttpRequest } from '../http-exchange.js';
import {
  statusOf,
  unclearIfRefused,
  type CallOutcome,
  type FiscalLink,
  type Instrument,
  type PaymentFlow,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
  type RefundOrder,
} from '../port.js';
import { textAt, type WireObject } from '../wire.js';
import { MULTICARD_LINE_FORM, multicardDocument, multicardItems } from './multicard-ofd.js';
import {
  multicardAnswer,
  multicardHoldStatus,
  multicardPaymentStatus,
  type MulticardAnswer,
} from './multicard.transform.js';

export interface MulticardClientOptions {
  /** `https://mesh.multicard.uz` */
  apiUrl: string;
  applicationId: string;
  secret: string;
  storeId: string;
  /** Some pages of the documentation name the other one. */
  tokenHeader?: 'authorization' | 'x-access-token';
  /** How long a hold is asked for, minutes; short, so that a hold unknown to us ends by itself. */
  holdMinutes?: number;
  /** Multicard's fiscalisation of this store is off: an invoice whose receipt our register makes may name its lines. */
  saysLines?: boolean;
  /** The merchant's own number at the tax office, for lines that Multicard registers. */
  sellerTin?: string;
  nowMs?: () => number;
}

const DEFAULT_HOLD_MINUTES = 60;
const INVOICE_SECONDS = 86_400;
/** A token that ends within this time is replaced before it is used. */
const TOKEN_MARGIN_MS = 60_000;

/** Multicard: cards by token with a hold, and invoices whose callback we may refuse. */
export class MulticardClient implements PaymentProvider {
  private token: { value: string; expiry: string } | null = null;

  constructor(
    private readonly options: MulticardClientOptions,
    private readonly exchange: HttpExchange,
  ) {}

  /** A draft holds nothing; one that is unknown to us ends with its expiry. */
  async prepare(order: PaymentOrder, flow: PaymentFlow, { token }: Instrument): Promise<CallOutcome> {
    const common = { store_id: this.storeId, amount: order.amountTiyin, invoice_id: order.ourRef };
    if (flow === 'hold') {
      const expiry = this.options.holdMinutes ?? DEFAULT_HOLD_MINUTES;
      const answer = await this.call('POST', '/payment/hold', { ...common, card: { token }, expiry });
      return answer.kind === 'data' ? multicardHoldStatus(answer.data) : answer;
    }
    const { callbackUrl: callback_url, returnUrl } = order;
    const answer = await this.call('POST', '/payment/invoice', {
      ...{ ...common, callback_url, lang: 'ru', ttl: INVOICE_SECONDS },
      ...(returnUrl !== null && { return_url: returnUrl, return_error_url: returnUrl }),
      ofd: this.invoiceLines(order),
    });
    if (answer.kind !== 'data') return answer;
    const url = textAt(answer.data, 'checkout_url');
    const providerRef = textAt(answer.data, 'uuid');
    if (url === null || providerRef === null) return { kind: 'unknown', detail: 'the invoice has no address' };
    return statusOf('pending', { providerRef, nextAction: { type: 'redirect', url } });
  }

  async authorize(_order: PaymentOrder, { otp }: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    const answer = await this.call('PUT', `/payment/hold/${idOf(ref)}`, otp === null ? {} : { otp });
    // Nothing is held, and the customer may try once more.
    if (answer.kind === 'refused' && answer.code === 'ERROR_WRONG_OTP')
      return statusOf('pending', { providerRef: ref.providerRef, nextAction: { type: 'otp' } });
    return answer.kind === 'data' ? multicardHoldStatus(answer.data) : answer;
  }

  async capture(ref: PaymentRef, lines: FiscalLines | null): Promise<CallOutcome> {
    const body = { amount: ref.amountTiyin, ...this.ofd(lines) };
    const answer = await this.call('PUT', `/payment/hold/${idOf(ref)}/charge`, body);
    return answer.kind === 'data' ? multicardPaymentStatus(answer.data) : unclearIfRefused(answer);
  }

  async void(ref: PaymentRef): Promise<CallOutcome> {
    const path = ref.flow === 'hold' ? `/payment/hold/${idOf(ref)}` : `/payment/invoice/${idOf(ref)}`;
    const answer = await this.call('DELETE', path);
    return answer.kind === 'data' ? statusOf('voided', { providerRef: ref.providerRef }) : unclearIfRefused(answer);
  }

  async refund(ref: PaymentRef, { amountTiyin }: RefundOrder): Promise<CallOutcome> {
    if (amountTiyin < ref.amountTiyin) return this.refundPart(ref, amountTiyin);
    const answer = await this.call('DELETE', `/payment/${idOf(ref)}`);
    // "Not found" is also the answer about what was given back before.
    return answer.kind === 'data' ? multicardPaymentStatus(answer.data) : unclearIfRefused(answer);
  }

  /** Without lines: the receipt of a part is ours, and Multicard is to make none beside it. */
  private async refundPart(ref: PaymentRef, amountTiyin: number): Promise<CallOutcome> {
    const body = { refund_amount: amountTiyin, ofd: [] };
    const answer = await this.call('DELETE', `/payment/${idOf(ref)}/partial`, body);
    return answer.kind === 'data' ? statusOf('refunded', { providerRef: ref.providerRef }) : answer;
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    if (ref.providerRef === null) return statusOf('not_found');
    const payment = await this.call('GET', `/payment/${idOf(ref)}`);
    if (payment.kind === 'data') {
      const facts = multicardPaymentStatus(payment.data);
      if (ref.flow !== 'hold' || ['captured', 'refunded', 'declined'].includes(facts.status)) return facts;
    } else if (payment.kind !== 'refused') return payment;
    if (ref.flow !== 'hold') return this.invoiceStatus(ref);
    const hold = await this.call('GET', `/payment/hold/${idOf(ref)}`);
    if (hold.kind === 'data') return multicardHoldStatus(hold.data);
    return hold.kind === 'refused' ? statusOf('not_found') : hold;
  }

  async attachLink(ref: PaymentRef, { url, isRefund }: FiscalLink): Promise<CallOutcome> {
    const answer = await this.call('PATCH', `/payment/${idOf(ref)}/fiscal`, { url, is_refund: isRefund });
    return answer.kind === 'data' ? statusOf('captured') : answer;
  }

  /** A document names itself as the sale or the refund. */
  async fetchDocument(ref: PaymentRef, { which }: WantedDocument): Promise<CallOutcome> {
    const answer = await this.call('GET', `/payment/${idOf(ref)}`);
    if (answer.kind !== 'data') return answer;
    const document = multicardDocument(answer.data, which);
    return { ...multicardPaymentStatus(answer.data), document };
  }

  private ofd(lines: FiscalLines | null): WireObject {
    return lines === null ? {} : { ofd: multicardItems(lines, this.options.sellerTin ?? null) };
  }

  /**
   * An invoice has to have `ofd`. Where our own register sells it is empty: from lines Multicard could register the sale once more.
   * An account whose fiscalisation Multicard has switched off may send them (`saysLines`).
   */
  private invoiceLines({ lines, saleLines }: PaymentOrder): readonly WireObject[] {
    const { sellerTin = null, saysLines = false } = this.options;
    if (lines !== null) return multicardItems(lines, sellerTin);
    const isSayable = saleLines.every((line) => unsayable(line, MULTICARD_LINE_FORM) === null);
    return saysLines && isSayable ? multicardItems(saleLines, sellerTin) : [];
  }

  /** The customer has not opened the invoice yet, or it was withdrawn. */
  private async invoiceStatus(ref: PaymentRef): Promise<CallOutcome> {
    const answer = await this.call('GET', `/payment/invoice/${idOf(ref)}`);
    if (answer.kind === 'data') return statusOf('pending', { providerRef: ref.providerRef });
    return answer.kind === 'refused' ? statusOf('voided') : answer;
  }

  private async call(method: HttpRequest['method'], path: string, body?: WireObject): Promise<MulticardAnswer> {
    const token = await this.currentToken();
    if (typeof token !== 'string') return token;
    const headers: Record<string, string> =
      this.options.tokenHeader === 'x-access-token'
        ? { 'x-access-token': token }
        : { authorization: `Bearer ${token}` };
    const url = `${this.options.apiUrl}${path}`;
    const answer = await this.exchange({ method, url, headers, ...(body && { body }) });
    if (answer.kind !== 'answered') return answer;
    if (answer.status === 401) {
      // Refused before anything was done: the next try brings a new token.
      this.token = null;
      return { kind: 'unsent', detail: 'the token was refused' };
    }
    return multicardAnswer(answer.status, answer.body);
  }

  private async currentToken(): Promise<string | Extract<MulticardAnswer, { detail: string }>> {
    const neededUntil = tashkentDateTime(this.nowMs() + TOKEN_MARGIN_MS);
    // Both are "YYYY-MM-DD HH:mm:ss" in Tashkent: they compare as text.
    if (this.token && this.token.expiry > neededUntil) return this.token.value;
    const { apiUrl, applicationId: application_id, secret } = this.options;
    const answer = await this.exchange({ method: 'POST', url: `${apiUrl}/auth`, body: { application_id, secret } });
    if (answer.kind !== 'answered') return { kind: 'unsent', detail: `no token: ${answer.detail}` };
    const body = answer.body as WireObject | null;
    const value = textAt(body ?? {}, 'token');
    const expiry = textAt(body ?? {}, 'expiry');
    if (answer.status !== 200 || value === null || expiry === null)
      return { kind: 'unsent', detail: `no token: HTTP ${String(answer.status)}` };
    this.token = { value, expiry };
    return value;
  }

  private get storeId(): number | string {
    const { storeId } = this.options;
    return /^\d{1,15}$/.test(storeId) ? Number(storeId) : storeId;
  }

  private nowMs(): number {
    return (this.options.nowMs ?? Date.now)();
  }
}

function idOf(ref: PaymentRef): string {
  return encodeURIComponent(ref.providerRef ?? '');
}
