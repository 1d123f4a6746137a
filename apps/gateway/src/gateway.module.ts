import { Global, Module, type DynamicModule, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { JobDatabase, observePools, PrismaService, ReportDatabase, SalesDatabase, sessionsAt } from '#database';
import { LaneBell, laneQueueBackend, observeQueue, QueueCounters } from '#queue';
import { HealthModule, Metrics, MetricsModule, type Logger } from '#runtime';
import { AccessModule } from './access/access.module.js';
import { ConsoleModule } from './console/console.module.js';
import { DATABASES, databaseProviders } from './databases.js';
import { DocsModule } from './docs/docs.module.js';
import { FleetModule } from './fleet/fleet.module.js';
import { GoodsModule } from './goods/goods.module.js';
import { NotifyModule } from './notify/notify.module.js';
import { OperatorModule } from './operator/operator.module.js';
import { PaymentsModule } from './payments/payments.module.js';
import { AcceptReceipts } from './receipts/accept-receipts.js';
import { ReceiptsModule } from './receipts/receipts.module.js';
import { SettledReceipts } from './receipts/settled-receipts.js';
import type { GatewaySettings } from './settings.js';
import { LOGGER, SETTINGS_TOKEN } from './tokens.js';

/** A receipt that is not written by then: the gateway does not accept, whatever else it can do. */
const STUCK_MS = 5_000;

@Global()
@Module({})
export class GatewayModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly bell: LaneBell,
    private readonly metrics: Metrics,
    private readonly sales: SalesDatabase,
    private readonly api: PrismaService,
    private readonly reports: ReportDatabase,
    private readonly jobs: JobDatabase,
  ) {}

  static create(settings: GatewaySettings, logger: Logger, metrics: Metrics): DynamicModule {
    return {
      module: GatewayModule,
      imports: [
        MetricsModule.register(metrics, { hasOwnPort: settings.METRICS_PORT !== undefined }),
        AccessModule,
        FleetModule,
        GoodsModule,
        ReceiptsModule,
        PaymentsModule,
        NotifyModule,
        OperatorModule,
        ConsoleModule,
        DocsModule,
        HealthModule.register({
          imports: [ReceiptsModule],
          inject: [SalesDatabase, LaneBell, AcceptReceipts, SettledReceipts],
          useFactory: (
            database: SalesDatabase,
            bell: LaneBell,
            accepting: AcceptReceipts,
            settled: SettledReceipts,
          ) => [
            { name: 'database', check: () => database.$queryRaw`SELECT 1` },
            {
              name: 'accepting',
              check: () => upOrThrow(accepting.oldestMs < STUCK_MS, 'receipts wait too long to be written'),
            },
            {
              // Shown only: all gateways are alike here, and none at all is less than one that reads and says when to come again.
              name: 'writes',
              optional: true,
              check: () => upOrThrow(!accepting.isWriteRefused, 'the database refuses to write'),
            },
            { name: 'notices', check: () => upOrThrow(settled.isListening, 'no connection for notices') },
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
        ...databaseProviders(settings),
        { provide: QueueCounters, useFactory: () => new QueueCounters() },
        {
          provide: LaneBell,
          inject: [QueueCounters],
          useFactory: (counters: QueueCounters) => openBell(settings, { counters, logger, metrics }),
        },
      ],
      exports: [SETTINGS_TOKEN, LOGGER, ...DATABASES, LaneBell],
    };
  }

  onModuleInit(): void {
    const { sales, api, reports, jobs } = this;
    observePools(this.metrics, { sales, api, reports, jobs });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.bell.close();
  }
}

function openBell(
  settings: GatewaySettings,
  tools: { counters: QueueCounters; logger: Logger; metrics: Metrics },
): LaneBell {
  const bell = new LaneBell(queueOf(settings), tools.counters, tools.logger);
  observeQueue(tools.metrics, tools.counters, bell);
  return bell;
}

function queueOf(settings: GatewaySettings): ReturnType<typeof laneQueueBackend> {
  return laneQueueBackend({ queueUrl: settings.QUEUE_URL ?? null, databaseUrl: sessionsAt(settings) });
}

function upOrThrow(isUp: boolean, message: string): Promise<void> {
  return isUp ? Promise.resolve() : Promise.reject(new Error(message));
}
