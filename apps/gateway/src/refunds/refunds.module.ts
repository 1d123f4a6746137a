import { Module } from '@nestjs/common';
import { ReceiptsModule } from '../receipts/receipts.module.js';
import { REFUND_HOOKS, type RefundHook } from './refund-hook.js';
import { RefundDuplicate } from './refund-duplicate.js';
import { RefundReceipt } from './refund-receipt.js';
import { RefundRepository } from './refund.repository.js';
import { RefundsController } from './refunds.controller.js';

/** What happens with every refund in its own transaction. Money that the gateway itself collected is paid back from here. */
const HOOKS: readonly RefundHook[] = [];

@Module({
  imports: [ReceiptsModule],
  controllers: [RefundsController],
  providers: [RefundRepository, RefundReceipt, RefundDuplicate, { provide: REFUND_HOOKS, useValue: HOOKS }],
  exports: [RefundDuplicate],
})
export class RefundsModule {}
