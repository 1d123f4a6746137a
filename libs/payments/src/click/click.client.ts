import { clickItems, type ClickAmountScale } from './click-ofd.js';
import { clickAuth } from './click.signature.js';
import { clickFailure, clickPassStatus, clickPaymentStatus, toTashkentDate } from './click.transform.js';
import { providerDocument, type FiscalLines, type WantedDocument } from '../fiscal.js';
import type { HttpAnswer, HttpExchange } from '../http-exchange.js';
import {
  statusOf,
  type CallOutcome,
  type FiscalLink,
  type Instrument,
  type NoStatus,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
  type RefundOrder,
} from '../port.js';
import { tiyinToSom, tiyinToSomNumber } from '../som.js';
import { integerAt, isObject, textAt, type WireObject } from '../wire.js';

export interface ClickClientOptions {
  /** `https://api.click.uz/v2/merchant` */
  apiUrl: string;
  serviceId: string;
  merchantUserId: string;
  secretKey: string;
  /** The merchant's own number at the tax office, for lines that Click registers. */
  sellerTin?: string;
  amountScale?: ClickAmountScale;
  /** Whether the link of a payment becomes the refund's after a reversal. */
  linksRefunds?: boolean;
  nowMs?: () => number;
}

/** How long a Click Pass payment waits for its confirmation. */
export const PASS_SECONDS = 30;

type ClickMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';
type ClickAnswer = { kind: 'body'; body: WireObject } | NoStatus;

/** Click's Merchant API. Nothing of it is idempotent: what was not answered is looked up by our reference. */
export class ClickClient implements PaymentProvider {
  private isPassConfirmed = false;

  constructor(
    private readonly options: ClickClientOptions,
    private readonly exchange: HttpExchange,
  ) {}

  /** Charges a card token, or asks the customer on the phone. */
  async authorize(order: PaymentOrder, instrument: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    const service_id = Number(this.options.serviceId);
    const amount = tiyinToSomNumber(order.amountTiyin);
    if (ref.flow === 'invoice') {
      const body = { service_id, amount, phone_number: instrument.phone, merchant_trans_id: order.ourRef };
      const answer = await this.call('POST', 'invoice/create', body);
      return answer.kind === 'body' ? statusOf('pending', { nextAction: { type: 'push' } }) : answer;
    }
    if (ref.flow === 'hold') {
      const body = { service_id, otp_data: instrument.qr, amount, transaction_id: order.ourRef };
      return this.pass(body);
    }
    const body = { service_id, card_token: instrument.token, amount, transaction_parameter: order.ourRef };
    return paymentOf(await this.call('POST', 'card_token/payment', body));
  }

  /** Click Pass: taken off the customer's wallet, and given back after 30 s unless it is confirmed. */
  async capture(ref: PaymentRef): Promise<CallOutcome> {
    const body = { service_id: Number(this.options.serviceId), payment_id: Number(ref.providerRef) };
    const answer = await this.call('POST', 'click_pass/confirm', body);
    return answer.kind === 'body' ? statusOf('captured', { providerRef: ref.providerRef }) : answer;
  }

  /** The mode belongs to the service and stays: it is switched on before the first payment. Switching it moves no money. */
  private async pass(body: WireObject): Promise<CallOutcome> {
    const startedAtMs = this.nowMs();
    if (!this.isPassConfirmed) {
      const mode = await this.call('PUT', `click_pass/confirmation/${this.options.serviceId}`);
      if (mode.kind === 'unknown') return { kind: 'unsent', detail: `the confirmation mode: ${mode.detail}` };
      if (mode.kind !== 'body') return mode;
      this.isPassConfirmed = true;
    }
    const answer = await this.call('POST', 'click_pass/payment', body);
    return answer.kind === 'body' ? clickPassStatus(answer.body, startedAtMs + PASS_SECONDS * 1_000) : answer;
  }

  /** Click cannot withdraw an invoice: closed here, its Prepare is refused. Money that came before is found by the status. */
  async void(ref: PaymentRef): Promise<CallOutcome> {
    const status = await this.fetchStatus(ref);
    if (status.kind !== 'status') return status;
    if (status.status === 'not_found' || status.status === 'pending' || status.status === 'declined')
      return statusOf('voided');
    return status;
  }

  async refund(ref: PaymentRef, { amountTiyin }: RefundOrder): Promise<CallOutcome> {
    const found = await this.idOf(ref);
    if (typeof found !== 'string') return found;
    if (amountTiyin < ref.amountTiyin) return this.refundPart(found, amountTiyin);
    const answer = await this.call('DELETE', `payment/reversal/${this.options.serviceId}/${found}`);
    if (answer.kind !== 'body') return answer;
    return statusOf('refunded', { providerRef: found, refundedTiyin: ref.amountTiyin });
  }

  /** What of a payment was reversed in parts no status shows: one that was not answered is a person's. */
  private async refundPart(paymentId: string, amountTiyin: number): Promise<CallOutcome> {
    const path = `payment/partial_reversal/${this.options.serviceId}/${paymentId}/${tiyinToSom(amountTiyin)}`;
    const answer = await this.call('DELETE', path);
    return answer.kind === 'body' ? statusOf('refunded', { providerRef: paymentId }) : answer;
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    const found = await this.idOf(ref);
    if (typeof found !== 'string') {
      const isOpenInvoice = found.kind === 'status' && found.status === 'not_found' && ref.flow === 'invoice';
      return isOpenInvoice ? statusOf('pending') : found;
    }
    const answer = await this.call('GET', `payment/status/${this.options.serviceId}/${found}`);
    return paymentOf(answer, found);
  }

  async attachLink(ref: PaymentRef, link: FiscalLink): Promise<CallOutcome> {
    const found = await this.idOf(ref);
    if (typeof found !== 'string') return found;
    const body = { service_id: Number(this.options.serviceId), payment_id: Number(found), qrcode: link.url };
    const answer = await this.call('POST', 'payment/ofd_data/submit_qrcode', body);
    return answer.kind === 'body' ? statusOf('captured', { providerRef: found }) : answer;
  }

  /** Read before write: whether handing in twice makes two documents is nowhere said. */
  async submitLines(ref: PaymentRef, lines: FiscalLines, totalTiyin: number): Promise<CallOutcome> {
    const known = await this.fetchDocument(ref, { which: 'sale', sale: null, isMoneyBack: false, lines });
    if (known.kind !== 'status' || known.document !== null) return known;
    const { serviceId, sellerTin = null, amountScale: scale = 1 } = this.options;
    const items = clickItems(lines, { sellerTin, scale });
    const body = {
      ...{ service_id: Number(serviceId), payment_id: Number(known.providerRef), items },
      ...{ received_ecash: totalTiyin, received_cash: 0, received_card: 0 },
    };
    const answer = await this.call('POST', 'payment/ofd_data/submit_items', body);
    return answer.kind === 'body' ? statusOf('captured', { providerRef: known.providerRef }) : answer;
  }

  /**
   * This one answer has no error_code: whatever has no readable link is "not there yet". A payment has one link: where it becomes
   * the refund's, another one than the sale's is the refund's, and of money that is back it cannot be said to be the sale's.
   */
  async fetchDocument(ref: PaymentRef, { which, sale, isMoneyBack }: WantedDocument): Promise<CallOutcome> {
    const found = await this.idOf(ref);
    if (typeof found !== 'string') return found;
    const answer = await this.request('GET', `payment/ofd_data/${this.options.serviceId}/${found}`);
    if (answer.kind !== 'answered') return answer;
    const failure = answer.status === 404 ? null : clickFailure(answer.status, true);
    if (failure) return failure;
    // `{paymentId, qrCodeURL}`
    const linked = isObject(answer.body) ? providerDocument({ url: textAt(answer.body, 'qrCodeURL') }) : null;
    const isWanted =
      which === 'refund' ? linked?.url !== sale?.url : !(isMoneyBack && this.options.linksRefunds === true);
    return statusOf('captured', { providerRef: found, document: isWanted ? linked : null });
  }

  /** Click's id of the payment: kept, or looked up by ours on the day, the day after and the day before. */
  private async idOf(ref: PaymentRef): Promise<string | CallOutcome> {
    if (ref.providerRef !== null) return ref.providerRef;
    for (const days of [0, 1, -1]) {
      const day = toTashkentDate(ref.createdAtMs + days * 86_400_000);
      const { serviceId } = this.options;
      const path = `payment/status_by_mti/${serviceId}/${encodeURIComponent(ref.ourRef)}/${day}`;
      const answer = await this.call('GET', path);
      if (answer.kind === 'body') {
        const id = textAt(answer.body, 'payment_id');
        if (id !== null && id !== '0') return id;
      } else if (answer.kind !== 'refused') return answer;
    }
    return statusOf('not_found');
  }

  private async call(method: ClickMethod, path: string, body?: WireObject): Promise<ClickAnswer> {
    return bodyOf(await this.request(method, path, body), method === 'GET');
  }

  private request(method: ClickMethod, path: string, body?: WireObject): Promise<HttpAnswer> {
    const { apiUrl, merchantUserId, secretKey } = this.options;
    const headers = { auth: clickAuth(merchantUserId, secretKey, Math.floor(this.nowMs() / 1_000)) };
    return this.exchange({ method, url: `${apiUrl}/${path}`, headers, ...(body && { body }) });
  }

  private nowMs(): number {
    return (this.options.nowMs ?? Date.now)();
  }
}

/** Error codes other than 0 are not published: on a reading they mean "not there", on anything else nothing is known. */
function bodyOf(answer: HttpAnswer, isReading: boolean): ClickAnswer {
  if (answer.kind !== 'answered') return answer;
  const failure = clickFailure(answer.status, isReading);
  if (failure) return failure;
  if (!isObject(answer.body)) return { kind: 'unknown', detail: 'the answer is no object' };
  const code = integerAt(answer.body, 'error_code');
  if (code === 0) return { kind: 'body', body: answer.body };
  const detail = textAt(answer.body, 'error_note') ?? 'no note';
  if (code !== null && isReading) return { kind: 'refused', code: String(code), detail };
  return { kind: 'unknown', detail: `error_code ${String(code)}: ${detail}` };
}

function paymentOf(answer: ClickAnswer, knownId: string | null = null): CallOutcome {
  if (answer.kind !== 'body') return answer;
  const status = clickPaymentStatus(integerAt(answer.body, 'payment_status'));
  return statusOf(status, { providerRef: textAt(answer.body, 'payment_id') ?? knownId });
}
