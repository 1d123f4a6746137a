import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { RefundReceipt } from '../receipts/refunds/refund-receipt.js';
import { payBackOwnRefund } from './pay-back-refund.js';
import type { PaymentFacts } from './payment.rows.js';
import { SAGA_CLIENT } from './several-receipts.js';

/**
 * The fiscal refund of each sale whose money is not there. Exactly one of each: its key is the payment's id, with the receipt's for a
 * further one, and the next worker after a crash finds the refund under it and begins those that are missing.
 */
@Injectable()
export class RefundSale {
  constructor(private readonly refunds: RefundReceipt) {}

  /** @returns `refused`: a register is gone, or a rule is against it. What the service itself was not able to do is thrown. */
  async execute(facts: PaymentFacts): Promise<'begun' | 'refused'> {
    const { id, receipt_id: saleId, receipt_status: status, fiscal_refund } = facts;
    const sales = [{ id: saleId, key: id, status, fiscal_refund }];
    for (const each of facts.further ?? []) sales.push({ ...each, key: `${id}/${each.id}` });
    const due = sales.filter((sale) => sale.status === 'registered' && sale.fiscal_refund === 'none');
    const results: string[] = [];
    for (const sale of due) results.push(await this.refund(facts.merchant_id, sale.id, sale.key));
    return results.includes('refused') ? 'refused' : 'begun';
  }

  private async refund(merchantId: string, saleId: string, key: string): Promise<'begun' | 'refused'> {
    try {
      await this.refunds.execute({
        merchantId,
        clientId: SAGA_CLIENT,
        saleId,
        idempotencyKey: key,
        body: {},
        waitSeconds: 0,
        payBack: payBackOwnRefund,
      });
      return 'begun';
    } catch (error) {
      if (error instanceof Problem && error.isRefusal) return 'refused';
      throw error;
    }
  }
}
