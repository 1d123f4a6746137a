import { Module } from '@nestjs/common';
import type { Logger } from '#runtime';
import type { GatewaySettings } from '../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { ClassifierJob } from './classifier-job.js';
import { ClassifierModule } from './classifier.module.js';
import { LoadClassifier } from './load-classifier.js';

/** Apart, because the command line loads on command only. */
@Module({
  imports: [ClassifierModule],
  providers: [
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
})
export class ClassifierJobModule {}
