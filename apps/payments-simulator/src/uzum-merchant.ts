import { randomUUID } from 'node:crypto';
import { basicAuthorization } from '#payments';
import { callUntil, type MerchantAnswer } from './merchant-call.js';
import { capture, giveBack, type SimPayment } from './money.js';
import type { Paid } from './pages.js';
import type { Parts } from './parts.js';

/** Uzum's side of its Merchant API: check, create, debit, confirm; what was not answered is asked for by status. */
export class UzumMerchantDriver {
  private readonly payments = new Map<string, SimPayment>();

  constructor(private readonly parts: Parts) {}

  async pay(order: { ourRef: string; amountTiyin: number }): Promise<Paid> {
    const params = { [this.parts.merchant.account('uzum').account_param]: order.ourRef };
    const checked = await this.call('check', { params });
    if (checked?.status !== 200) return { paid: false, result: checked?.body };
    const transId = randomUUID();
    const payment = this.parts.money.open({ provider: 'uzum', id: transId, ...order });
    this.payments.set(transId, payment);
    if (this.parts.faults.draw(['reorder'])) await this.call('confirm', confirmation(transId));
    const creation = { transId, params, amount: order.amountTiyin };
    const created = await this.call('create', creation);
    if (this.parts.faults.draw(['duplicate'])) await this.call('create', creation);
    if (created?.status !== 200 && (await this.statusOf(transId)) !== 'CREATED') {
      payment.status = 'declined';
      return { paid: false, result: created?.body };
    }
    payment.status = 'reserved';
    const result = await this.confirm(transId);
    if (result === 'CONFIRMED') capture(payment);
    else payment.status = 'declined';
    // Sent long ago and on its way until now.
    if (this.parts.faults.draw(['stale_webhook'])) await this.call('create', creation);
    return { paid: result === 'CONFIRMED', result };
  }

  /** The money goes back to the customer unless the merchant refuses. */
  async reverse(transId: string): Promise<MerchantAnswer | null> {
    const answer = await callUntil(
      (result) => result !== null && result.status < 500,
      () => this.call('reverse', { transId }),
    );
    const payment = this.payments.get(transId);
    if (answer?.status === 200 && payment) giveBack(payment);
    return answer;
  }

  private async confirm(transId: string): Promise<unknown> {
    const confirmed = await this.call('confirm', confirmation(transId));
    if (this.parts.faults.draw(['duplicate'])) await this.call('confirm', confirmation(transId));
    if (confirmed?.status === 200) return confirmed.body['status'];
    const isFinal = (answer: MerchantAnswer | null): boolean =>
      answer?.status === 200 && ['CONFIRMED', 'FAILED', 'REVERSED'].includes(String(answer.body['status']));
    // A transaction whose confirmation never arrived is still CREATED: it is confirmed once more.
    const answer = await callUntil(isFinal, async () => {
      const status = await this.call('status', { transId });
      if (status?.body['status'] === 'CREATED') await this.call('confirm', confirmation(transId));
      return status;
    });
    return answer?.body['status'];
  }

  private async statusOf(transId: string): Promise<unknown> {
    const answer = await this.call('status', { transId });
    return answer?.body['status'];
  }

  private call(operation: string, fields: Record<string, unknown>): Promise<MerchantAnswer | null> {
    const { url, service_id, login, password } = this.parts.merchant.account('uzum');
    const body = JSON.stringify({ serviceId: Number(service_id), timestamp: Date.now(), ...fields });
    const authorization = basicAuthorization(login, password);
    const headers = { 'content-type': 'application/json', authorization };
    return this.parts.merchant.call('uzum', { base: url, path: `/${operation}` }, body, headers);
  }
}

function confirmation(transId: string): Record<string, unknown> {
  return {
    ...{ transId, paymentSource: 'UZCARD', tariff: null, processingReferenceNumber: '524818898472' },
    ...{ phone: '998901234567', cardType: 2 },
  };
}
