import { Module } from '@nestjs/common';
import { AcceptModule } from './accept.module.js';
import { DocumentsModule } from './documents/documents.module.js';
import { RefundsModule } from './refunds/refunds.module.js';
import { ReportsModule } from './reports/reports.module.js';
import { SearchModule } from './search/search.module.js';

/** Receipts and refunds: accepted, shown, found and added up. Routes that move money with them are those of payments. */
@Module({
  imports: [AcceptModule, RefundsModule, DocumentsModule, SearchModule, ReportsModule],
  exports: [AcceptModule, RefundsModule, DocumentsModule],
})
export class ReceiptsModule {}
