import { Global, Module, type DynamicModule } from '@nestjs/common';
import { SalesDatabase } from '#database';
import { LaneBell } from '#queue';
import { HealthModule, Metrics, MetricsModule, type Logger } from '#runtime';
import { ArchiveModule } from './archive/archive.module.js';
import { PartitionsModule } from './archive/partitions.module.js';
import { AdvisoryLaneLocks } from './lanes/advisory-lane-locks.js';
import { InspectionModule } from './inspection/inspection.module.js';
import { LanesModule } from './lanes/lanes.module.js';
import { RestoreModule } from './restore/restore.module.js';
import type { RelaySettings } from './settings.js';
import { TasksModule } from './tasks/tasks.module.js';
import { LOGGER, SETTINGS_TOKEN } from './tokens.js';
import { WatchModule } from './watch.module.js';

@Global()
@Module({})
export class RelayModule {
  static create(settings: RelaySettings, logger: Logger, metrics: Metrics): DynamicModule {
    return {
      module: RelayModule,
      imports: [
        MetricsModule.register(metrics, { hasOwnPort: settings.METRICS_PORT !== undefined }),
        LanesModule,
        TasksModule,
        InspectionModule,
        WatchModule,
        RestoreModule,
        ArchiveModule,
        PartitionsModule,
        HealthModule.register({
          imports: [LanesModule],
          inject: [SalesDatabase, AdvisoryLaneLocks, LaneBell],
          useFactory: (database: SalesDatabase, locks: AdvisoryLaneLocks, bell: LaneBell) => [
            { name: 'database', check: () => database.$queryRaw`SELECT 1` },
            { name: 'lane_locks', check: () => upOrThrow(locks.isConnected, 'no session for lane locks') },
            // Without it receipts are accepted and dispatched all the same, only later: no reason to take us away.
            {
              name: 'queue',
              optional: true,
              check: () => upOrThrow(bell.state === 'up', 'the queue does not answer'),
            },
          ],
        }),
      ],
      providers: [
        { provide: SETTINGS_TOKEN, useValue: settings },
        { provide: LOGGER, useValue: logger },
      ],
      exports: [SETTINGS_TOKEN, LOGGER],
    };
  }
}

function upOrThrow(isUp: boolean, message: string): Promise<void> {
  return isUp ? Promise.resolve() : Promise.reject(new Error(message));
}
