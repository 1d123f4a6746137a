import { Inject, Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { type Prisma, PrismaService, sessionsAt } from '#database';
import { archiveOf, readPartitions, type PartitionReading, type RunStatement } from '#ledger';
import { loggedReading, Metrics, Periodic, type Logger } from '#runtime';
import { LanesModule } from '../lanes/lanes.module.js';
import { eventsKeepDays, type RelaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { PARTITION_OPTIONS, PartitionKeeper } from './partition-keeper.js';

const EVERY_MS = 600_000;
const FIRST_AFTER_MS = 60_000;
/** Attempts and receipts leave one by one (archive-keeper.ts): of a large partition that takes its time. */
const LEAVE_WITHIN_DAYS = 7;

/** Keeps the partitions of events, webhook deliveries, calls of payments, attempts and receipts (docs/database.md, "Partitions"). */
@Module({
  imports: [LanesModule],
  providers: [
    {
      provide: PartitionKeeper,
      inject: [SETTINGS_TOKEN, LOGGER],
      useFactory: (settings: RelaySettings, logger: Logger): PartitionKeeper => {
        const { WEBHOOK_KEEP_DAYS: keepDays, PAYMENT_CALLS_KEEP_DAYS: keepCallsDays } = settings;
        const options = {
          ...PARTITION_OPTIONS,
          archive: archiveOf(settings),
          ...{ keepDays, keepCallsDays },
          keepEventsDays: eventsKeepDays(settings),
          keepLeavingDays: {
            attempts: settings.ATTEMPTS_KEEP_DAYS + LEAVE_WITHIN_DAYS,
            receipts: settings.RECEIPTS_KEEP_DAYS + LEAVE_WITHIN_DAYS,
          },
        };
        return new PartitionKeeper(sessionsAt(settings), options, logger);
      },
    },
  ],
})
export class PartitionsModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly rounds: Periodic;

  constructor(
    private readonly keeper: PartitionKeeper,
    private readonly prisma: PrismaService,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const work = { name: 'the partitions', everyMs: EVERY_MS, startsAfterMs: FIRST_AFTER_MS };
    this.rounds = new Periodic({ ...work, run: () => keeper.run() }, logger);
  }

  onApplicationBootstrap(): void {
    const what = 'not read for metrics how the partitions stand';
    const reading = loggedReading(() => this.read(), { logger: this.logger, what });
    const metrics = {
      partitions_ahead_days: {
        help: 'Days from now to the end of the last partition that has one, of the table that has the fewest',
        together: 'min',
        of: ({ daysAhead }: PartitionReading) => daysAhead,
      },
      partitions_kept_seconds: {
        help: 'Since any relay last made the partitions of the months to come and took off those that are over',
        together: 'max',
        of: ({ keptSeconds }: PartitionReading) => keptSeconds,
      },
      partitions_held: {
        help: '1 while a month that is over stays, as too much of it is not finished',
        together: 'max',
        of: ({ held }: PartitionReading) => (held.length > 0 ? 1 : 0),
      },
      partitions_waiting_seconds: {
        help: 'Since the oldest partition was taken off that has not been archived and dropped yet; 0: there is none',
        together: 'max',
        of: ({ waitingSeconds }: PartitionReading) => waitingSeconds,
      },
    } as const;
    for (const [name, { help, together, of }] of Object.entries(metrics))
      this.metrics.gauge({ name, help, together }, async (gauge) => {
        const found = await reading.get();
        gauge.set(found ? of(found) : Number.NaN);
      });
    this.rounds.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.keeper.stop();
    await this.rounds.stop();
  }

  private read(): Promise<PartitionReading> {
    const run: RunStatement = <Row>(statement: Prisma.Sql) => this.prisma.$queryRaw<Row[]>(statement);
    return readPartitions(run);
  }
}
