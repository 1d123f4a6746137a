import { Module } from '@nestjs/common';
import { PayBackRefund } from '../../payments/pay-back-refund.js';
import { ReceiptsModule } from '../receipts.module.js';
import { REFUND_HOOKS, type RefundHook } from './refund-hook.js';
import { RefundDuplicate } from './refund-duplicate.js';
import { RefundReceipt } from './refund-receipt.js';
import { RefundRepository } from './refund.repository.js';
import { RefundsController } from '../../payments/refunds.controller.js';

/** What happens with every refund in its own transaction. Money that the gateway itself collected is paid back from here. */
const HOOKS: readonly RefundHook[] = [new PayBackRefund()];

@Module({
  imports: [ReceiptsModule],
  controllers: [RefundsController],
  providers: [RefundRepository, RefundReceipt, RefundDuplicate, { provide: REFUND_HOOKS, useValue: HOOKS }],
  exports: [RefundDuplicate, RefundReceipt],
})
export class RefundsModule {}
