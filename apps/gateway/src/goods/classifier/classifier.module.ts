import { Module } from '@nestjs/common';
import { systemClock } from '#runtime';
import { AuditModule } from '../../audit/audit.module.js';
import { CatalogModule } from '../catalog/catalog.module.js';
import { ScratchFolders } from '../sheets/scratch-folders.js';
import { ScratchModule } from '../sheets/scratch.module.js';
import { ApplyVersion } from './apply-version.js';
import { Classifier } from './classifier.js';
import { ClassifierController } from './classifier.controller.js';
import { ClassifierVersionsController } from './classifier-versions.controller.js';
import { Drafts } from './drafts.js';
import { GoBack } from './go-back.js';
import { ImportRuns } from './import-runs.js';
import { ListImports } from './list-imports.js';
import { LoadClassifier } from './load-classifier.js';

/** The national classification register: loaded, kept by version, shown. */
@Module({
  imports: [AuditModule, CatalogModule, ScratchModule],
  controllers: [ClassifierController, ClassifierVersionsController],
  providers: [
    Classifier,
    Drafts,
    ImportRuns,
    ApplyVersion,
    GoBack,
    ListImports,
    {
      provide: LoadClassifier,
      inject: [ImportRuns, Drafts, ApplyVersion, ScratchFolders],
      useFactory: (runs: ImportRuns, drafts: Drafts, apply: ApplyVersion, scratch: ScratchFolders) =>
        new LoadClassifier(runs, drafts, apply, systemClock, scratch),
    },
  ],
  exports: [LoadClassifier, GoBack, Classifier],
})
export class ClassifierModule {}
