import { Module } from '@nestjs/common';
import { PaymentsModule } from '../payments/payments.module.js';
import { ReceiptDraftsController } from '../payments/receipt-drafts.controller.js';
import { ReceiptsController } from '../payments/receipts.controller.js';
import { ReceiptsModule } from './receipts.module.js';

/** The receipts' routes: a receipt is made here, or by the payment that collects its money. */
@Module({ imports: [ReceiptsModule, PaymentsModule], controllers: [ReceiptsController, ReceiptDraftsController] })
export class ReceiptsApiModule {}
