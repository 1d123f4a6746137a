import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AcceptModule } from '../accept.module.js';
import { ExportReceipts } from './export-receipts.js';
import { SearchController } from './search.controller.js';
import { SearchReceipts } from './search-receipts.js';

/** Finding receipts and taking them away. */
@Module({
  imports: [AcceptModule, AuditModule],
  controllers: [SearchController],
  providers: [SearchReceipts, ExportReceipts],
  exports: [ExportReceipts],
})
export class SearchModule {}
