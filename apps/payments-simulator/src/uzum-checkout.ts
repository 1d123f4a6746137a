import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { capture, giveBack, giveBackPart, hold, type SimPayment } from './money.js';
import type { Paid } from './pages.js';
import type { Parts } from './parts.js';

type Body = Record<string, unknown>;
type OperationType = 'AUTHORIZE' | 'COMPLETE' | 'REVERSE' | 'REFUND';

interface Operation {
  operationId: string;
  merchantOperationId: string | null;
  startAt: string;
  operationType: OperationType;
  state: 'IN_PROGRESS' | 'SUCCESS' | 'FAIL';
}

interface Order {
  payment: SimPayment;
  orderNumber: string;
  isHeld: boolean;
  cart: { total: number; items: unknown[] } | null;
  operations: Operation[];
}

/** Uzum Checkout: orders with a page, bound cards, holds, parts of refunds, receipts by cart, callbacks without a signature. */
export class UzumCheckoutBook {
  private readonly orders = new Map<string, Order>();

  constructor(private readonly parts: Parts) {}

  find(id: string): Order | undefined {
    const order = this.orders.get(id);
    return order?.payment.isForgotten === true ? undefined : order;
  }

  register(body: Body): Body {
    const orderNumber = String(body['orderNumber']);
    const isTaken = [...this.orders.values()].some((order) => order.orderNumber === orderNumber);
    if (isTaken) return failure(3027, 'Payment with this order number already exists');
    const id = randomUUID();
    const ourRef = orderNumber.split('.')[0] ?? '';
    const payment = this.parts.money.open({ provider: 'uzum', id, ourRef, amountTiyin: Number(body['amount']) });
    const { payType } = body['paymentParams'] as { payType: string };
    const { cart = null } = (body['merchantParams'] ?? {}) as { cart?: Order['cart'] };
    this.orders.set(id, { payment, orderNumber, isHeld: payType === 'TWO_STEP', cart, operations: [] });
    return done({ orderId: id, paymentRedirectUrl: `${this.parts.ownUrl()}/uzum/pay/${id}` });
  }

  /** A bound card, or a customer on the page. */
  pay(order: Order, operationId: string | null): Body {
    const { payment } = order;
    const isAtWork = order.operations.some(({ state }) => state === 'IN_PROGRESS');
    if (payment.status !== 'pending' || isAtWork) return failure(3000, 'Invalid payment status');
    const operation = begin(order, 'AUTHORIZE', operationId);
    if (this.parts.faults.draw(['decline'])) {
      payment.status = 'declined';
      operation.state = 'FAIL';
      return failure(3008, 'Insufficient funds on the account');
    }
    this.finish(operation, () => {
      if (order.isHeld) hold(payment, this.parts.faults);
      else this.take(order);
    });
    return done({ operationId: operation.operationId, mdOrder: payment.id });
  }

  complete(order: Order, amount: number, operationId: string | null): Body {
    if (order.payment.status !== 'held') return failure(3000, 'Invalid payment status');
    if (amount !== order.payment.amountTiyin) return failure(3002, 'Invalid amount, currency, or fee');
    const operation = begin(order, 'COMPLETE', operationId);
    this.finish(operation, () => this.take(order));
    return done({ operationId: operation.operationId });
  }

  reverse(order: Order, operationId: string | null): Body {
    if (order.payment.status !== 'held') return failure(3000, 'Invalid payment status');
    const operation = begin(order, 'REVERSE', operationId);
    this.finish(operation, () => giveBack(order.payment));
    return done({ operationId: operation.operationId });
  }

  refund(order: Order, body: Body, operationId: string | null): Body {
    const { payment, cart } = order;
    if (payment.status !== 'captured') return failure(3000, 'Invalid payment status');
    if (cart !== null && body['cart'] === undefined)
      return failure(3045, 'Cart for automatic fiscalization of the refund was not provided');
    const amount = Number(body['amount']);
    if (amount > payment.amountTiyin - payment.refundedTiyin) return failure(3021, 'Incorrect amount for refund');
    const operation = begin(order, 'REFUND', operationId);
    if (this.parts.faults.draw(['refuse_refund'])) {
      operation.state = 'FAIL';
      return done({ operationId: operation.operationId });
    }
    this.finish(operation, () => {
      giveBackPart(payment, amount);
      if (cart !== null) this.parts.money.register(payment, 'refund', null);
    });
    return done({ operationId: operation.operationId });
  }

  /** The customer on the page; afterwards the merchant is notified, as often and in whatever order. */
  async payOnPage(id: string): Promise<Paid> {
    const order = this.find(id);
    if (!order) return { paid: false, result: 'no such order' };
    const { faults } = this.parts;
    if (faults.draw(['stale_webhook'])) await this.notify(order, 'AUTHORIZE', 'FAIL');
    const result = this.pay(order, null);
    const isPaid = result['errorCode'] === 0;
    const calls: OperationType[] = order.isHeld ? ['AUTHORIZE'] : ['AUTHORIZE', 'COMPLETE'];
    if (faults.draw(['reorder'])) calls.reverse();
    if (faults.draw(['duplicate'])) calls.push(...calls);
    for (const type of calls) await this.notify(order, type, isPaid ? 'SUCCESS' : 'FAIL');
    return { paid: isPaid, result };
  }

  private async notify(order: Order, operationType: OperationType, operationState: string): Promise<void> {
    const { uzum } = this.parts.merchant.accounts();
    if (!uzum) return;
    const { payment, orderNumber } = order;
    const body = { orderId: payment.id, operationState, operationType, cardType: 2, orderNumber, rrn: '123456789012' };
    await this.parts.merchant.call('uzum', uzum.url, JSON.stringify(body));
  }

  private take(order: Order): void {
    capture(order.payment);
    const { cart, payment } = order;
    if (cart !== null) this.parts.money.register(payment, 'sale', { count: cart.items.length, totalTiyin: cart.total });
  }

  private finish(operation: Operation, act: () => void): void {
    this.parts.faults.perhapsLate(() => {
      act();
      operation.state = 'SUCCESS';
    });
  }
}

const STATUS = {
  ...{ pending: 'REGISTERED', reserved: 'REGISTERED', held: 'AUTHORIZED', captured: 'COMPLETED' },
  ...{ voided: 'REVERSED', refunded: 'REFUNDED', declined: 'DECLINED' },
} as const;

/** GetOrderStatusResponse, with its documented fields. */
function orderOf({ payment, orderNumber, operations }: Order): Body {
  const { amountTiyin, status } = payment;
  return {
    ...{ orderId: payment.id, status: STATUS[status], cardType: 2, merchantOrderId: orderNumber },
    ...{ amount: amountTiyin, totalAmount: amountTiyin, completedAmount: payment.captures > 0 ? amountTiyin : 0 },
    ...{ refundedAmount: payment.refundedTiyin, reversedAmount: status === 'voided' ? amountTiyin : 0 },
    operations: operations.map(({ merchantOperationId, ...operation }) => ({
      ...operation,
      ...(merchantOperationId !== null && { merchantOperationId }),
      ...(operation.state === 'SUCCESS' && { rrn: '123456789012' }),
    })),
  };
}

function begin(order: Order, operationType: OperationType, merchantOperationId: string | null): Operation {
  const startAt = new Date().toISOString();
  const named = { operationId: randomUUID(), merchantOperationId };
  const operation: Operation = { ...named, startAt, operationType, state: 'IN_PROGRESS' };
  order.operations.push(operation);
  return operation;
}

function done(result: Body): Body {
  return { errorCode: 0, message: null, result };
}

function failure(errorCode: number, message: string): Body {
  return { errorCode, message };
}

const BASE = '/uzum/checkout/api/v1';

export function addUzumCheckout(server: FastifyInstance, book: UzumCheckoutBook): void {
  const bodyOf = (request: FastifyRequest): Body => request.body as Body;
  const withOrder = (request: FastifyRequest, act: (order: Order) => Body): Body => {
    const order = book.find(String(bodyOf(request)['orderId']));
    return order ? act(order) : failure(3005, 'Payment with the specified paymentId not found');
  };
  /** Whatever has a key is done once; clients that send none begin an operation with each call. */
  const once = (request: FastifyRequest, act: (order: Order, key: string | null) => Body): Body =>
    withOrder(request, (order) => {
      const header = request.headers['x-operation-id'];
      const key = typeof header === 'string' ? header : null;
      const isKnown = key !== null && order.operations.some(({ merchantOperationId: id }) => id === key);
      return isKnown ? failure(3028, 'Operation already exists') : act(order, key);
    });
  server.post(`${BASE}/payment/register`, (request) => book.register(bodyOf(request)));
  server.post(`${BASE}/payment/merchantPay`, (request) => once(request, (order, key) => book.pay(order, key)));
  server.post(`${BASE}/payment/getOrderStatus`, (request) => withOrder(request, (order) => done(orderOf(order))));
  server.post(`${BASE}/payment/getReceipts`, (request) =>
    withOrder(request, ({ payment }) =>
      done({
        receipts: payment.documents.map(({ type, url }) => ({
          receiptUrl: url,
          receiptType: type === 'sale' ? 'PURCHASE' : 'REFUND',
        })),
      }),
    ),
  );
  server.post(`${BASE}/acquiring/complete`, (request) =>
    once(request, (order, key) => book.complete(order, Number(bodyOf(request)['amount']), key)),
  );
  server.post(`${BASE}/acquiring/reverse`, (request) => once(request, (order, key) => book.reverse(order, key)));
  server.post(`${BASE}/acquiring/refund`, (request) =>
    once(request, (order, key) => book.refund(order, bodyOf(request), key)),
  );
}
