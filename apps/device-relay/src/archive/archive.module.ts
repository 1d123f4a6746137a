import { Inject, Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { type Prisma, PrismaService, sessionsAt } from '#database';
import { archiveOf, daysKept, LEAVING_TABLES, type KeepDays, type RunStatement } from '#ledger';
import { loggedReading, Metrics, Periodic, type Logger } from '#runtime';
import { LanesModule } from '../lanes/lanes.module.js';
import type { RelaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { ArchiveLag } from './archive-lag.js';
import { ARCHIVE_OPTIONS, ArchiveKeeper } from './archive-keeper.js';

const EVERY_MS = 600_000;
const FIRST_AFTER_MS = 60_000;
const KEEPER = Symbol('keeper of the archive');

/** Moves old attempts, receipts and payments out of the database, where ARCHIVE_DIR or ARCHIVE_BUCKET says for which place (docs/archive.md). */
@Module({
  imports: [LanesModule],
  providers: [
    {
      provide: KEEPER,
      inject: [SETTINGS_TOKEN, LOGGER],
      useFactory: (settings: RelaySettings, logger: Logger): ArchiveKeeper | null => {
        const files = archiveOf(settings);
        if (!files) return null;
        const options = { ...ARCHIVE_OPTIONS, keepDays: keepDaysOf(settings) };
        return new ArchiveKeeper(sessionsAt(settings), files, options, logger);
      },
    },
  ],
})
export class ArchiveModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly rounds: Periodic | null;

  constructor(
    @Inject(KEEPER) private readonly keeper: ArchiveKeeper | null,
    private readonly prisma: PrismaService,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(SETTINGS_TOKEN) private readonly settings: RelaySettings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const work = { name: 'the archive', everyMs: EVERY_MS, startsAfterMs: FIRST_AFTER_MS };
    this.rounds = keeper && new Periodic({ ...work, run: () => keeper.run() }, logger);
  }

  onApplicationBootstrap(): void {
    if (!this.rounds) return;
    const keepDays = keepDaysOf(this.settings);
    const lags = LEAVING_TABLES.map((table) => new ArchiveLag(table, daysKept(table, keepDays)));
    const what = 'not read for metrics how far the archive is behind';
    const reading = loggedReading(() => this.readLag(lags), { logger: this.logger, what });
    this.metrics.gauge(
      {
        name: 'archive_behind_seconds',
        help: 'By how much the oldest attempt, receipt or payment that may leave the database is older than it should be, or an archive was not finished',
        together: 'max',
      },
      async (gauge) => gauge.set((await reading.get()) ?? Number.NaN),
    );
    this.rounds.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.keeper?.stop();
    await this.rounds?.stop();
  }

  private async readLag(lags: readonly ArchiveLag[]): Promise<number> {
    const run: RunStatement = <Row>(statement: Prisma.Sql) => this.prisma.$queryRaw<Row[]>(statement);
    let most = 0;
    for (const lag of lags) most = Math.max(most, await lag.read(run));
    return most;
  }
}

function keepDaysOf({ ATTEMPTS_KEEP_DAYS, RECEIPTS_KEEP_DAYS }: RelaySettings): KeepDays {
  return { attempts: ATTEMPTS_KEEP_DAYS, receipts: RECEIPTS_KEEP_DAYS };
}
