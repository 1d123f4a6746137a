import { Module } from '@nestjs/common';
import { ReceiptsModule } from '../receipts.module.js';
import { ExportReceipts } from './export-receipts.js';
import { SearchController } from './search.controller.js';
import { SearchReceipts } from './search-receipts.js';

/** Finding receipts and taking them away. */
@Module({
  imports: [ReceiptsModule],
  controllers: [SearchController],
  providers: [SearchReceipts, ExportReceipts],
  exports: [ExportReceipts],
})
export class SearchModule {}
