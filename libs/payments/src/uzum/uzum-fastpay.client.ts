import type { HttpExchange } from '../http-exchange.js';
import { operationId } from '../operation-id.js';
import {
  statusOf,
  unclearIfRefused,
  type CallOutcome,
  type FiscalLink,
  type Instrument,
  type MoneyStatus,
  type NoStatus,
  type PaymentOrder,
  type PaymentRef,
} from '../port.js';
import { integerAt, isObject, rrnOf, textAt, type WireObject } from '../wire.js';
import { uzumCardType } from './uzum-checkout.transform.js';
import { uzumFastPayAuth } from './uzum.signature.js';

export interface UzumFastPayOptions {
  /** `https://mobile.apelsin.uz` */
  apiUrl: string;
  serviceId: string;
  userId: string;
  secretKey: string;
  cashboxCode: string;
  nowMs?: () => number;
}

const STATUS: Readonly<Record<string, MoneyStatus>> = {
  SUCCESS: 'captured',
  FAILED: 'declined',
  // Created, and its money has not come.
  HOLD: 'in_flight',
  REVERSED: 'refunded',
  // Nothing here asks for parts.
  PARTIAL_CANCELLED: 'manual',
};

/** Errors that say for sure that this call moved nothing. After any other the same payment may exist, or may yet come to be. */
const DEFINITIVE: ReadonlySet<string> = new Set([
  ...['apelsin.pay.authorization.error', 'apelsin.pay.unsupported.operation', 'apelsin.pay.reverse.not.allowed'],
  ...['apelsin.pay.wrong.prefix.otp.data', 'apelsin.pay.user.otp.data.expired', 'apelsin.pay.safe.mode.on'],
  ...['device.not.registered', 'receipt.qr.only.yours', 'user.card.not.found', 'user.does.not.exist'],
  ...['limit.was.set', 'operation.failed', 'operation.forbidden', 'operation.not.found', 'unsupported.fiscal.url'],
]);

/** As long a code as the documents ask for, and no customer's: no money can come of it. */
const NO_CODE = '0'.repeat(43);
/** A wallet's code is long out of date by then: what is not known is a person's business. */
const UNFINDABLE_AFTER_MS = 10 * 60_000;

type FastPayAnswer = { kind: 'body'; body: WireObject } | NoStatus;

/** Uzum FastPay: a till reads the code that a customer's wallet shows, and the money is taken at once. */
export class UzumFastPayClient {
  constructor(
    private readonly options: UzumFastPayOptions,
    private readonly exchange: HttpExchange,
  ) {}

  async authorize(order: PaymentOrder, { qr }: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    const answer = await this.pay(order.ourRef, order.amountTiyin, qr ?? '');
    if (answer.kind !== 'body') return answer;
    const { body } = answer;
    const providerRef = textAt(body, 'payment_id');
    const said = textAt(body, 'payment_status');
    // An earlier try of the very same payment: what became of it is asked.
    if (said === 'DUPLICATED') return this.fetchStatus({ ...ref, providerRef });
    if (said === 'FAILED') return statusOf('declined', { providerRef });
    if (said !== 'SUCCESS' || providerRef === null)
      return { kind: 'unknown', detail: `payment_status ${String(said)}` };
    const evidence = {
      rrn: rrnOf(textAt(body, 'processing_reference_number')),
      phone: textAt(body, 'client_phone_number'),
      cardType: uzumCardType(integerAt(body, 'card_type')),
    };
    return statusOf('captured', { providerRef, evidence });
  }

  async refund(ref: PaymentRef): Promise<CallOutcome> {
    const path = `v2/payment/reversal/${encodeURIComponent(ref.ourRef)}`;
    const answer = await this.call('PUT', path, { service_id: this.serviceId, payment_id: ref.providerRef });
    return answer.kind === 'body' ? statusIn(answer.body) : answer;
  }

  /**
   * An answer that was lost has named no payment_id, and nothing else is asked for. The same payment once more, with a code that
   * is none, is answered as a duplicate with its id where it arrived. Any other answer proves nothing.
   */
  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    if (ref.providerRef !== null) return this.statusOf(ref.providerRef);
    const answer = await this.pay(ref.ourRef, ref.amountTiyin, NO_CODE);
    if (answer.kind === 'body' && textAt(answer.body, 'payment_status') === 'DUPLICATED') {
      const found = textAt(answer.body, 'payment_id');
      if (found !== null) return this.statusOf(found);
    }
    if (answer.kind === 'unsent') return answer;
    const isLate = this.nowMs() - ref.createdAtMs > UNFINDABLE_AFTER_MS;
    return isLate ? statusOf('manual') : { kind: 'unknown', detail: 'FastPay names no payment of this order' };
  }

  async attachLink(ref: PaymentRef, { url }: FiscalLink): Promise<CallOutcome> {
    const body = { payment_id: ref.providerRef, service_id: this.serviceId, fiscal_url: url };
    const answer = await this.call('POST', 'payment/fiscal', body);
    return answer.kind === 'body' ? statusOf('captured', { providerRef: ref.providerRef }) : answer;
  }

  private async statusOf(paymentId: string): Promise<CallOutcome> {
    const answer = await this.call('POST', 'payment/status', { payment_id: paymentId, service_id: this.serviceId });
    if (answer.kind === 'refused') return answer.code === '404' ? statusOf('not_found') : unclearIfRefused(answer);
    return answer.kind === 'body' ? statusIn(answer.body) : answer;
  }

  private pay(ourRef: string, amountTiyin: number, code: string): Promise<FastPayAnswer> {
    return this.call('POST', 'v2/payment', {
      ...{ amount: amountTiyin, cashbox_code: this.options.cashboxCode, otp_data: code, order_id: ourRef },
      ...{ transaction_id: operationId(ourRef, 'fastpay'), service_id: this.serviceId },
    });
  }

  private async call(method: 'POST' | 'PUT', path: string, body: WireObject): Promise<FastPayAnswer> {
    const { apiUrl, userId, secretKey } = this.options;
    const headers = { authorization: uzumFastPayAuth(userId, secretKey, this.nowMs()) };
    const url = `${apiUrl}/api/apelsin-pay/merchant/${path}`;
    const answer = await this.exchange({ method, url, headers, body });
    if (answer.kind !== 'answered') return answer;
    if (!isObject(answer.body) || answer.status >= 500)
      return { kind: 'unknown', detail: `HTTP ${String(answer.status)}` };
    const code = integerAt(answer.body, 'error_code');
    if (code === 0) return { kind: 'body', body: answer.body };
    const detail = textAt(answer.body, 'error_message') ?? 'no message';
    if (code === null || !DEFINITIVE.has(detail))
      return { kind: 'unknown', detail: `error_code ${String(code)}: ${detail}` };
    return { kind: 'refused', code: String(code), detail };
  }

  private get serviceId(): number {
    return Number(this.options.serviceId);
  }

  private nowMs(): number {
    return (this.options.nowMs ?? Date.now)();
  }
}

function statusIn(body: WireObject): CallOutcome {
  const status = STATUS[textAt(body, 'payment_status') ?? ''] ?? 'in_flight';
  return statusOf(status, { providerRef: textAt(body, 'payment_id') });
}
