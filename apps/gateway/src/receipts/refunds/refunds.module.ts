import { Module } from '@nestjs/common';
import { AcceptModule } from '../accept.module.js';
import { RefundDuplicate } from './refund-duplicate.js';
import { RefundReceipt } from './refund-receipt.js';
import { RefundRepository } from './refund.repository.js';

@Module({
  imports: [AcceptModule],
  providers: [RefundRepository, RefundReceipt, RefundDuplicate],
  exports: [RefundDuplicate, RefundReceipt, RefundRepository],
})
export class RefundsModule {}
