import { Module } from '@nestjs/common';
import { CatalogModule } from './catalog/catalog.module.js';
import { ClassifierJobModule } from './classifier/classifier-job.module.js';
import { ClassifierModule } from './classifier/classifier.module.js';

/** What is sold: each merchant's catalogue and the national classification register. */
@Module({ imports: [CatalogModule, ClassifierModule, ClassifierJobModule], exports: [CatalogModule] })
export class GoodsModule {}
