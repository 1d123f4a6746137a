import { Module } from '@nestjs/common';
import { JobDatabase } from '#database';
import { AuditModule } from '../../audit/audit.module.js';
import { AuditTrail } from '../../audit/audit-trail.js';
import { AuditedChange } from '../../audit/audited-change.js';
import { MerchantRules } from '../../fleet/merchants/merchant-rules.js';
import { ScratchModule } from '../sheets/scratch.module.js';
import { CatalogChanges } from './catalog-changes.js';
import { CatalogController } from './catalog.controller.js';
import { CatalogNotices } from './catalog-notices.js';
import { CatalogWords } from './catalog-words.js';
import { ChangeProduct } from './change-product.js';
import { CheckProducts } from './check-products.js';
import { ClearCatalog } from './clear-catalog.js';
import { CommitSync, LONG_CHANGE } from './commit-sync.js';
import { ExportProducts } from './files/export-products.js';
import { CatalogFilesController } from './files/files.controller.js';
import { ImportJobs } from './files/import-jobs.js';
import { ImportProducts } from './files/import-products.js';
import { GoodsCatalog } from './goods-catalog.js';
import { Products } from './products.js';
import { ResolveItems } from './resolve-items.js';
import { SearchProducts } from './search-products.js';
import { SimilarWords } from './similar-words.js';
import { StoreProducts } from './store-products.js';
import { SyncCatalog } from './sync-catalog.js';
import { SyncsController } from './syncs.controller.js';
import { UpsertProducts } from './upsert-products.js';

/** Each merchant's goods: kept, found, synchronised. */
@Module({
  imports: [AuditModule, ScratchModule],
  controllers: [CatalogController, SyncsController, CatalogFilesController],
  providers: [
    MerchantRules,
    GoodsCatalog,
    CatalogWords,
    CatalogNotices,
    SimilarWords,
    Products,
    CheckProducts,
    StoreProducts,
    UpsertProducts,
    ChangeProduct,
    SearchProducts,
    CatalogChanges,
    ResolveItems,
    {
      provide: LONG_CHANGE,
      inject: [JobDatabase, AuditTrail],
      useFactory: (jobs: JobDatabase, trail: AuditTrail) => new AuditedChange(jobs, trail),
    },
    CommitSync,
    SyncCatalog,
    ImportProducts,
    ImportJobs,
    ExportProducts,
    ClearCatalog,
  ],
  exports: [
    MerchantRules,
    GoodsCatalog,
    CatalogWords,
    CatalogNotices,
    SimilarWords,
    CheckProducts,
    StoreProducts,
    ImportProducts,
    ExportProducts,
  ],
})
export class CatalogModule {}
