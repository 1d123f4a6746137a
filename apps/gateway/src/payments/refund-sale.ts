import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { RefundReceipt } from '../receipts/refunds/refund-receipt.js';
import { payBackRefund } from './pay-back-refund.js';
import { SAGA_CLIENT } from './repository/payment.repository.js';
import type { PaymentFacts } from './payment.rows.js';

/**
 * The fiscal refund of a sale whose money is not there. Exactly one: its key is the payment's id, and the next worker after a
 * crash finds the refund under it.
 */
@Injectable()
export class RefundSale {
  constructor(private readonly refunds: RefundReceipt) {}

  /** @returns `refused`: its register is gone, or a rule is against it. What the service itself was not able to do is thrown. */
  async execute(facts: PaymentFacts): Promise<'begun' | 'refused'> {
    try {
      await this.refunds.execute({
        merchantId: facts.merchant_id,
        clientId: SAGA_CLIENT,
        saleId: facts.receipt_id,
        idempotencyKey: facts.id,
        body: {},
        waitSeconds: 0,
        payBack: payBackRefund,
      });
      return 'begun';
    } catch (error) {
      if (error instanceof Problem && error.isRefusal) return 'refused';
      throw error;
    }
  }
}
