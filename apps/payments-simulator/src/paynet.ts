import type { FastifyInstance } from 'fastify';
import { basicAuthorization, isObject } from '#payments';
import { callUntil, type MerchantAnswer } from './merchant-call.js';
import { capture, giveBack, type SimPayment } from './money.js';
import { idIn, type Paid } from './pages.js';
import type { Parts } from './parts.js';

const UNKNOWN_TRANSACTION = 203;

/** Paynet's side: information, payment, and CheckTransaction for what was not answered. */
class PaynetDriver {
  private lastId = 71_000;
  private readonly payments = new Map<number, SimPayment>();

  constructor(private readonly parts: Parts) {}

  async pay(ourRef: string, amountTiyin: number): Promise<Paid> {
    const serviceId = this.serviceId;
    const fields = { order_id: ourRef };
    // A customer at a terminal waits, and tries again.
    const known = await callUntil(
      (last) => last !== null && last.status < 500,
      () => this.call('GetInformation', { serviceId, fields }),
    );
    if (!isObject(known?.body['result'])) return { paid: false, result: known?.body };
    this.lastId += 1;
    const transactionId = this.lastId;
    const made = { provider: 'paynet', id: String(transactionId), ourRef, amountTiyin } as const;
    const payment = this.parts.money.open(made);
    this.payments.set(transactionId, payment);
    const request = { amount: amountTiyin, transactionId, serviceId, fields, time: '2026-01-02 08:04:05' };
    const { faults } = this.parts;
    // The question about the payment overtakes the payment.
    if (faults.draw(['reorder'])) await this.call('CheckTransaction', { transactionId, serviceId });
    const calls = faults.draw(['duplicate']) ? 2 : 1;
    let answer: MerchantAnswer | null = null;
    for (let call = 0; call < calls; call += 1) answer = await this.call('PerformTransaction', request);
    // What was not answered is asked about until it is: one that gives up leaves a payment that no call can move.
    const checked = await callUntil(
      (last) => isObject(last?.body['result']) || isUnknown(last),
      () => this.call('CheckTransaction', { transactionId, serviceId }),
    );
    const result = checked?.body['result'];
    const isPaid = isObject(result) && result['transactionState'] === 1;
    if (isPaid) capture(payment);
    else payment.status = 'declined';
    // Sent long ago and on its way until now.
    if (faults.draw(['stale_webhook'])) await this.call('PerformTransaction', request);
    return { paid: isPaid, result: answer?.body };
  }

  async cancel(transactionId: number): Promise<MerchantAnswer | null> {
    const answer = await this.call('CancelTransaction', { transactionId, serviceId: this.serviceId });
    const payment = this.payments.get(transactionId);
    if (payment && isObject(answer?.body['result'])) giveBack(payment);
    return answer;
  }

  private get serviceId(): number {
    return Number(this.parts.merchant.account('paynet').service_id);
  }

  private call(method: string, params: unknown): Promise<MerchantAnswer | null> {
    const { url, login, password } = this.parts.merchant.account('paynet');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const headers = { 'content-type': 'application/json', authorization: basicAuthorization(login, password) };
    return this.parts.merchant.call('paynet', url, body, headers);
  }
}

/** The merchant has no such transaction; every other error may be over by the next call. */
function isUnknown(answer: MerchantAnswer | null): boolean {
  const error = answer?.body['error'];
  return isObject(error) && error['code'] === UNKNOWN_TRANSACTION;
}

/** A terminal: the customer names the payment and its sum. */
export function addPaynet(server: FastifyInstance, parts: Parts): void {
  const driver = new PaynetDriver(parts);
  server.post('/paynet/pay/:ref/:amount', (request) => {
    const { ref, amount } = request.params as { ref: string; amount: string };
    return driver.pay(ref, Number(amount));
  });
  server.post('/paynet/cancel/:id', (request) => driver.cancel(Number(idIn(request))));
}
