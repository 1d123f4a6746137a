import { randomUUID } from 'node:crypto';
import { basicAuthorization } from '#payments';
import type { Faults } from './faults.js';
import { callUntil, type Merchant, type MerchantAnswer } from './merchant-call.js';
import { capture, giveBack, type Money, type SimPayment } from './money.js';

/** Uzum's side of its Merchant API: check, create, debit, confirm; what was not answered is asked for by status. */
export class UzumMerchantDriver {
  private readonly payments = new Map<string, SimPayment>();

  constructor(
    private readonly merchant: Merchant,
    private readonly money: Money,
    private readonly faults: Faults,
  ) {}

  async pay(order: { ourRef: string; amountTiyin: number }): Promise<{ paid: boolean; result: unknown }> {
    const params = { [this.account.account_param]: order.ourRef };
    const checked = await this.call('check', { params });
    if (checked?.status !== 200) return { paid: false, result: checked?.body };
    const transId = randomUUID();
    const payment = this.money.open({ provider: 'uzum', id: transId, ...order });
    this.payments.set(transId, payment);
    if (this.faults.draw(['reorder'])) await this.call('confirm', confirmation(transId));
    const creation = { transId, params, amount: order.amountTiyin };
    const created = await this.call('create', creation);
    if (this.faults.draw(['duplicate'])) await this.call('create', creation);
    if (created?.status !== 200 && (await this.statusOf(transId)) !== 'CREATED') {
      payment.status = 'declined';
      return { paid: false, result: created?.body };
    }
    payment.status = 'reserved';
    const result = await this.confirm(transId);
    if (result === 'CONFIRMED') capture(payment);
    else payment.status = 'declined';
    // Sent long ago and on its way until now.
    if (this.faults.draw(['stale_webhook'])) await this.call('create', creation);
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
    if (this.faults.draw(['duplicate'])) await this.call('confirm', confirmation(transId));
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
    const { url, service_id, login, password } = this.account;
    const body = JSON.stringify({ serviceId: Number(service_id), timestamp: Date.now(), ...fields });
    const authorization = basicAuthorization(login, password);
    const headers = { 'content-type': 'application/json', authorization };
    return this.merchant.call('uzum', { base: url, path: `/${operation}` }, body, headers);
  }

  private get account() {
    const { uzum } = this.merchant.accounts();
    if (!uzum) throw new Error('No Uzum account is set up.');
    return uzum;
  }
}

function confirmation(transId: string): Record<string, unknown> {
  return {
    ...{ transId, paymentSource: 'UZCARD', tariff: null, processingReferenceNumber: '524818898472' },
    ...{ phone: '998901234567', cardType: 2 },
  };
}
