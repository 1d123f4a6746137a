import { tashkentDateTime } from '#fiscal-domain';
import type { HttpExchange } from '../http-exchange.js';
import { operationId } from '../operation-id.js';
import {
  statusOf,
  unclearIfRefused,
  type CallOutcome,
  type Instrument,
  type PaymentFlow,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
  type RefundOrder,
} from '../port.js';
import { tiyinToSomNumber } from '../som.js';
import { textAt, type WireObject } from '../wire.js';
import { octoAnswer, octoPaymentStatus, type OctoAnswer } from './octo.transform.js';

export interface OctoClientOptions {
  /** `https://secure.octo.uz` */
  apiUrl: string;
  shopId: string;
  secret: string;
  /** How long a page may be paid on, minutes. */
  ttlMinutes: number;
  isTest: boolean;
}

/** Octo: the customer pays on its page; one stage takes the money, two hold it. Its own reference is ours (`shop_transaction_id`). */
export class OctoClient implements PaymentProvider {
  constructor(
    private readonly options: OctoClientOptions,
    private readonly exchange: HttpExchange,
  ) {}

  /** The same reference once more is answered with the payment that it has. */
  async prepare(order: PaymentOrder, flow: PaymentFlow): Promise<CallOutcome> {
    const { callbackUrl, returnUrl } = order;
    const answer = await this.call('/prepare_payment', {
      ...{ shop_transaction_id: order.ourRef, auto_capture: flow !== 'hold', test: this.options.isTest },
      ...{ init_time: tashkentDateTime(Date.now()), total_sum: tiyinToSomNumber(order.amountTiyin) },
      ...{ currency: 'UZS', description: order.description, language: 'ru', ttl: this.options.ttlMinutes },
      ...(returnUrl !== null && { return_url: returnUrl }),
      ...(callbackUrl !== null && { notify_url: callbackUrl }),
    });
    if (answer.kind !== 'data') return answer;
    const url = textAt(answer.data, 'octo_pay_url');
    const { providerRef } = octoPaymentStatus(answer.data);
    if (providerRef === null || url === null) return { kind: 'unknown', detail: 'the payment has no id or no page' };
    return statusOf('pending', { providerRef, nextAction: { type: 'redirect', url } });
  }

  /** The customer has the page. */
  authorize(_order: PaymentOrder, _instrument: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    return Promise.resolve(statusOf('pending', { providerRef: ref.providerRef }));
  }

  async capture(ref: PaymentRef): Promise<CallOutcome> {
    const final_amount = tiyinToSomNumber(ref.amountTiyin);
    return unclearIfRefused(await this.accept(ref, { accept_status: 'capture', final_amount }));
  }

  /** A page that was not paid on ends by its time to live: until then it can be paid. */
  async void(ref: PaymentRef): Promise<CallOutcome> {
    const status = await this.fetchStatus(ref);
    if (status.kind !== 'status') return status;
    if (status.status === 'authorized') return unclearIfRefused(await this.accept(ref, { accept_status: 'cancel' }));
    const isOver = Date.now() - ref.createdAtMs > PAGE_BEGINS_MS + this.options.ttlMinutes * 60_000;
    if (status.status === 'declined' || status.status === 'not_found') return statusOf('voided');
    if (status.status !== 'pending') return status;
    return isOver ? statusOf('voided') : { kind: 'unknown', detail: 'the page is still open' };
  }

  async refund(ref: PaymentRef, { amountTiyin, key }: RefundOrder): Promise<CallOutcome> {
    const answer = await this.call('/refund', {
      shop_refund_id: operationId(ref.ourRef, ref.providerRef ?? '', 'refund', key),
      ...{ octo_payment_UUID: ref.providerRef, amount: tiyinToSomNumber(amountTiyin) },
    });
    if (answer.kind !== 'data') return unclearIfRefused(answer);
    const status = textAt(answer.data, 'status');
    if (status === 'succeeded') return statusOf('refunded', { providerRef: ref.providerRef });
    return { kind: 'unknown', detail: `the refund is ${String(status)}` };
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    const answer = await this.call('/prepare_payment', { shop_transaction_id: ref.ourRef });
    if (answer.kind === 'data') {
      const status = octoPaymentStatus(answer.data);
      const isOther = ref.providerRef !== null && status.providerRef !== null && status.providerRef !== ref.providerRef;
      // Our reference belongs to one payment; of another one of the same order nothing can be asked.
      return isOther ? { kind: 'unknown', detail: 'the reference belongs to another payment' } : status;
    }
    // Three fields are too few to make a payment: none has this reference.
    const isNone = answer.kind === 'refused' && answer.code === '1' && ref.providerRef === null;
    if (isNone) return statusOf('not_found');
    // A question names a shop, its secret and our reference: what else is refused of it is who asks.
    const isStranger = answer.kind === 'refused' && answer.code !== '1';
    return isStranger ? { kind: 'unsent', detail: `error ${answer.code}: ${answer.detail}` } : unclearIfRefused(answer);
  }

  private async accept(ref: PaymentRef, more: WireObject): Promise<CallOutcome> {
    const answer = await this.call('/set_accept', { octo_payment_UUID: ref.providerRef, ...more });
    return answer.kind === 'data' ? octoPaymentStatus(answer.data) : answer;
  }

  private async call(path: string, body: WireObject): Promise<OctoAnswer> {
    const { apiUrl, shopId, secret } = this.options;
    const request = { octo_shop_id: Number(shopId), octo_secret: secret, ...body };
    return octoAnswer(await this.exchange({ method: 'POST', url: `${apiUrl}${path}`, body: request }));
  }
}

/** A customer's hour to be sent to the page. */
const PAGE_BEGINS_MS = 3_600_000;
