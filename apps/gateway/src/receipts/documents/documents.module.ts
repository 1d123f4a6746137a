import { Module } from '@nestjs/common';
import { AcceptModule } from '../accept.module.js';
import { PrintReceipt } from './print-receipt.js';
import { ReadNotices } from './read-notices.js';
import { ReadShownReceipt } from './read-shown-receipt.js';
import { ReceiptDocumentController } from './receipt-document.controller.js';
import { ReceiptPageController } from './receipt-page.controller.js';
import { ReceiptPress } from './receipt-press.js';

/** The receipt for the buyer: a page, and the same on paper. */
@Module({
  imports: [AcceptModule],
  controllers: [ReceiptPageController, ReceiptDocumentController],
  providers: [ReadNotices, ReadShownReceipt, ReceiptPress, PrintReceipt],
  exports: [ReadNotices, ReadShownReceipt, PrintReceipt],
})
export class DocumentsModule {}
