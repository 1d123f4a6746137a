import { Module } from '@nestjs/common';
import { systemClock, type Logger } from '#runtime';
import { CatalogModule } from '../catalog/catalog.module.js';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { ApplyVersion } from './apply-version.js';
import { ClassifierJob } from './classifier-job.js';
import { Classifier } from './classifier.js';
import { ClassifierController } from './classifier.controller.js';
import { Drafts } from './drafts.js';
import { ImportRuns } from './import-runs.js';
import { LoadClassifier } from './load-classifier.js';

/** The national classification register: loaded, kept by version, shown. */
@Module({
  imports: [CatalogModule],
  controllers: [ClassifierController],
  providers: [
    Classifier,
    Drafts,
    ImportRuns,
    ApplyVersion,
    {
      provide: LoadClassifier,
      inject: [ImportRuns, Drafts, ApplyVersion],
      useFactory: (runs: ImportRuns, drafts: Drafts, apply: ApplyVersion) =>
        new LoadClassifier(runs, drafts, apply, systemClock),
    },
    {
      provide: ClassifierJob,
      inject: [LoadClassifier, SETTINGS_TOKEN, LOGGER],
      useFactory: (load: LoadClassifier, settings: GatewaySettings, logger: Logger) =>
        new ClassifierJob(
          load,
          {
            changesUrl: settings.CLASSIFIER_CHANGES_URL,
            inactiveUrl: settings.CLASSIFIER_INACTIVE_URL,
            everyMs: settings.CLASSIFIER_FETCH_MS,
          },
          logger,
        ),
    },
  ],
  exports: [LoadClassifier, Classifier],
})
export class ClassifierModule {}
