import type { WantedDocument } from '../fiscal.js';
import type { HttpExchange } from '../http-exchange.js';
import { operationId } from '../operation-id.js';
import {
  statusOf,
  type CallOutcome,
  type Instrument,
  type NoStatus,
  type PaymentFlow,
  type PaymentOrder,
  type PaymentRef,
  type RefundOrder,
} from '../port.js';
import { objectAt, textAt, type WireObject } from '../wire.js';
import {
  uzumAnswer,
  uzumCart,
  uzumOperations,
  uzumOrderStatus,
  uzumReceipt,
  uzumRefundCart,
  type UzumAnswer,
} from './uzum-checkout.transform.js';

export interface UzumCheckoutOptions {
  apiUrl: string;
  terminalId: string;
  apiKey: string;
  /** The merchant's own number at the tax office; only where Checkout registers the receipt. */
  sellerTin: string;
}

const SESSION_SECONDS = 1_800;
/** A customer's hour to begin, and the longest session after it: then the page cannot be paid on any more. */
const PAGE_ENDS_MS = 3_600_000 + SESSION_SECONDS * 1_000;
const ORDER_TAKEN = '3027';
/** Order numbers that an order can have beside its own, after answers that were lost. */
const ORDER_TRIES = 4;

/**
 * Uzum Checkout. Its answer to an operation is only that the operation was taken: what became of it the order's status says.
 * `X-Operation-Id` is made of the payment and the operation, so that a repeat cannot be done twice.
 */
export class UzumCheckoutClient {
  constructor(
    private readonly options: UzumCheckoutOptions,
    private readonly exchange: HttpExchange,
  ) {}

  /** An order that is known nowhere ends with its session; its number stays taken, so the next try has another. */
  async prepare(order: PaymentOrder, flow: PaymentFlow, { token }: Instrument): Promise<CallOutcome> {
    for (let attempt = 1; ; attempt += 1) {
      const orderNumber = attempt === 1 ? order.ourRef : `${order.ourRef}.${String(attempt)}`;
      const answer = await this.call('payment/register', this.registration(order, { flow, orderNumber, token }));
      if (answer.kind === 'refused' && answer.code === ORDER_TAKEN && attempt < ORDER_TRIES) continue;
      if (answer.kind !== 'result') return answer;
      const providerRef = textAt(answer.result, 'orderId');
      const url = textAt(answer.result, 'paymentRedirectUrl');
      if (providerRef === null || url === null) return { kind: 'unknown', detail: 'the order has no id or no page' };
      return statusOf('pending', { providerRef, nextAction: token === null ? { type: 'redirect', url } : null });
    }
  }

  private registration(
    order: PaymentOrder,
    { flow, orderNumber, token }: { flow: PaymentFlow; orderNumber: string; token: string | null },
  ): WireObject {
    const { returnUrl, lines } = order;
    return {
      ...{ amount: order.amountTiyin, clientId: clientOf(token) ?? order.ourRef, currency: 860, orderNumber },
      ...{ paymentDetails: order.description, viewType: 'REDIRECT', sessionTimeoutSecs: SESSION_SECONDS },
      paymentParams: { payType: flow === 'hold' ? 'TWO_STEP' : 'ONE_STEP', operationType: 'PAYMENT' },
      ...(returnUrl !== null && { successUrl: returnUrl, failureUrl: returnUrl }),
      ...(lines !== null && { merchantParams: { cart: uzumCart(order.ourRef, lines, this.options.sellerTin) } }),
    };
  }

  /** Without a token the customer pays on the page, which `prepare` has given. */
  async authorize(order: PaymentOrder, { token }: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    if (token === null) return statusOf('pending', { providerRef: ref.providerRef });
    // Asked for by the documents; our own address for callbacks is no page of a browser's.
    const body = {
      processData: { type: 'bind', bindingId: bindingOf(token) },
      ...{ orderId: ref.providerRef, returnUrl: order.returnUrl ?? '' },
    };
    const answer = await this.call('payment/merchantPay', body, operationId(ref.ourRef, 'pay'));
    if (answer.kind !== 'result') return answer.kind === 'refused' ? answer : this.readInstead(ref, answer);
    const url = textAt(objectAt(answer.result, 'dataFor3ds'), 'acsUrl');
    if (url !== null)
      return statusOf('pending', { providerRef: ref.providerRef, nextAction: { type: 'redirect', url } });
    // Taken, not done: the order says what became of it, now or later.
    const status = await this.fetchStatus(ref);
    return status.kind === 'status' && status.status !== 'in_flight'
      ? status
      : statusOf('pending', { providerRef: ref.providerRef });
  }

  async capture(ref: PaymentRef): Promise<CallOutcome> {
    const { amountTiyin } = ref;
    return statusAfter(await this.operate('acquiring/complete', ref, { name: 'complete', amountTiyin }));
  }

  /** Only a hold can be released; a page that was not paid on cannot be closed, it ends with its session. */
  async void(ref: PaymentRef): Promise<CallOutcome> {
    const status = await this.fetchStatus(ref);
    if (status.kind !== 'status' || status.status === 'in_flight') return status;
    if (status.status === 'authorized') {
      const { amountTiyin } = ref;
      return statusAfter(await this.operate('acquiring/reverse', ref, { name: 'reverse', amountTiyin }));
    }
    const isOver = Date.now() - ref.createdAtMs > PAGE_ENDS_MS;
    if (status.status === 'declined' || (status.status === 'pending' && isOver)) return statusOf('voided');
    return status.status === 'pending' ? { kind: 'unknown', detail: 'the page is still open' } : status;
  }

  async refund(ref: PaymentRef, { amountTiyin, key, lines }: RefundOrder): Promise<CallOutcome> {
    const cart = lines === null ? {} : { cart: uzumRefundCart(lines, this.options.sellerTin) };
    const done = await this.operate('acquiring/refund', ref, { name: `refund ${key}`, amountTiyin, more: cart });
    if (done.kind !== 'operation') return done;
    const { order, state } = done;
    if (state === 'SUCCESS') return { ...uzumOrderStatus(order), status: 'refunded' };
    return { kind: 'unknown', detail: `the refund is ${state ?? 'not shown yet'}` };
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    const order = await this.readOrder(ref);
    return order.kind === 'order' ? uzumOrderStatus(order.order) : order;
  }

  async fetchDocument(ref: PaymentRef, { which }: WantedDocument): Promise<CallOutcome> {
    const answer = await this.call('payment/getReceipts', { orderId: ref.providerRef });
    if (answer.kind !== 'result') return answer;
    return statusOf('captured', { providerRef: ref.providerRef, document: uzumReceipt(answer.result, which) });
  }

  private async readOrder(ref: PaymentRef): Promise<{ kind: 'order'; order: WireObject } | CallOutcome> {
    if (ref.providerRef === null) return statusOf('not_found');
    const answer = await this.call('payment/getOrderStatus', { orderId: ref.providerRef });
    if (answer.kind === 'result') return { kind: 'order', order: answer.result };
    return answer.kind === 'refused' && answer.code === '3005' ? statusOf('not_found') : answer;
  }

  /** The order is read first: a repeat finds its own operation there, and one that failed is asked for under the next id. */
  private async operate(path: string, ref: PaymentRef, operation: Operation): Promise<Operated> {
    const before = await this.readOrder(ref);
    if (before.kind !== 'order') return { kind: 'unsent', detail: 'the order could not be read' };
    const { id, state } = operationIn(before.order, ref, operation.name);
    if (state === 'SUCCESS' || state === 'IN_PROGRESS') return { kind: 'operation', order: before.order, state };
    const body = { orderId: ref.providerRef, amount: operation.amountTiyin, ...operation.more };
    const answer = await this.call(path, body, id);
    if (answer.kind === 'unsent' || answer.kind === 'refused') return answer;
    const after = await this.readOrder(ref);
    if (after.kind !== 'order') return answer.kind === 'unknown' ? answer : { kind: 'unknown', detail: 'not read' };
    const done = uzumOperations(after.order).find(({ merchantOperationId }) => merchantOperationId === id);
    return { kind: 'operation', order: after.order, state: done?.state ?? null };
  }

  private async readInstead(ref: PaymentRef, unanswered: NoStatus): Promise<CallOutcome> {
    if (unanswered.kind !== 'unknown') return unanswered;
    const status = await this.fetchStatus(ref);
    const isClear = status.kind === 'status' && ['authorized', 'captured', 'declined'].includes(status.status);
    return isClear ? status : unanswered;
  }

  private async call(path: string, body: WireObject, operation?: string): Promise<UzumAnswer> {
    const { apiUrl, terminalId, apiKey } = this.options;
    const headers = {
      ...{ 'x-terminal-id': terminalId, 'x-api-key': apiKey },
      ...(path === 'payment/register' && { 'content-language': 'ru-RU' }),
      ...(operation !== undefined && { 'x-operation-id': operation }),
    };
    return uzumAnswer(await this.exchange({ method: 'POST', url: `${apiUrl}/api/v1/${path}`, headers, body }));
  }
}

interface Operation {
  name: string;
  amountTiyin: number;
  more?: { cart?: WireObject };
}

type Operated = { kind: 'operation'; order: WireObject; state: string | null } | NoStatus;

/** Of an operation that only the order's status decides: "refused" may mean that it was done before. */
function statusAfter(done: Operated): CallOutcome {
  if (done.kind === 'operation') return uzumOrderStatus(done.order);
  return done.kind === 'refused' ? { kind: 'unknown', detail: `${done.code}: ${done.detail}` } : done;
}

/** The id of the next try, or of the one that is under way or done. */
function operationIn(order: WireObject, ref: PaymentRef, name: string): { id: string; state: string | null } {
  const known = uzumOperations(order);
  for (let attempt = 1; ; attempt += 1) {
    const id = operationId(ref.ourRef, ref.providerRef ?? '', name, String(attempt));
    const state = known.find(({ merchantOperationId }) => merchantOperationId === id)?.state ?? null;
    if (state !== 'FAIL') return { id, state };
  }
}

/** A binding belongs to a client of the merchant's: a token may name both, `client:binding`. */
function clientOf(token: string | null): string | null {
  const [client, binding] = token?.split(':') ?? [];
  return client !== undefined && binding !== undefined ? client : null;
}

function bindingOf(token: string): string {
  return token.split(':').at(-1) ?? token;
}
