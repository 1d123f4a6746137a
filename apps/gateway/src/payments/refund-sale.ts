import { Injectable } from '@nestjs/common';
import { Problem } from '#runtime';
import type { PaymentFacts } from './payment.rows.js';

/** The fiscal refund of a sale whose money is not there. */
@Injectable()
export class RefundSale {
  execute(facts: PaymentFacts): Promise<void> {
    return Promise.reject(new Problem('receipt_not_registered', `refunds of ${facts.receipt_id} are not there yet`));
  }
}
