import { isDatabaseUnavailable, type Logger, type Metrics } from '#runtime';
import { ReportDatabase } from './databases.js';
import { PrismaService, type DatabaseSettings } from './prisma.service.js';
import { ReplicaWatch } from './replica-watch.js';
import { sqlStateOf } from './sql-errors.js';

export interface ReplicaSettings {
  /** postgres:// URL of the program role, as the primary's. */
  url: string;
  /** How much a read may lack, milliseconds. */
  maxAgeMs: number;
  lists: DatabaseSettings;
  reports: DatabaseSettings;
}

/** A streaming replica, with a pool for each kind of read and the watch over its age. */
export class Replica {
  readonly url: string;
  readonly lists: PrismaService;
  readonly reports: ReportDatabase;
  readonly watch: ReplicaWatch;

  constructor({ url, maxAgeMs, lists, reports }: ReplicaSettings, logger: Logger) {
    this.url = url;
    this.lists = new PrismaService({ ...lists, url });
    this.reports = new ReportDatabase({ ...reports, url });
    const applicationName = `${lists.applicationName}-replica`;
    this.watch = new ReplicaWatch({ primaryUrl: lists.url, replicaUrl: url, applicationName, maxAgeMs }, logger);
  }

  onModuleInit(): void {
    this.watch.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.watch.stop();
    await Promise.all([this.lists.$disconnect(), this.reports.$disconnect()]);
  }
}

interface Source {
  database: PrismaService;
  url: string;
}

/**
 * Reads that may lack the last seconds (docs/scale.md). They go to the replica as long as it is known to be young enough, and to the
 * primary otherwise, also when the replica goes away in the middle.
 */
export class ReadDatabase {
  readonly reads = { replica: 0, primary: 0 };

  constructor(
    private readonly primary: Source,
    private readonly replica: (Source & { watch: ReplicaWatch }) | null,
  ) {}

  get source(): 'replica' | 'primary' {
    return this.replica?.watch.isFresh === true ? 'replica' : 'primary';
  }

  /** @param work only reads; it may be done a second time, on the primary. All that belongs together is one work, read at one place */
  async read<T>(work: (database: PrismaService, url: string) => Promise<T>): Promise<T> {
    const { replica } = this;
    if (replica?.watch.isFresh !== true) return this.readPrimary(work);
    try {
      const found = await work(replica.database, replica.url);
      this.reads.replica += 1;
      return found;
    } catch (error) {
      if (sqlStateOf(error) !== GAVE_WAY) {
        if (!isAway(error)) throw error;
        replica.watch.distrust();
      }
      return this.readPrimary(work);
    }
  }

  private async readPrimary<T>(work: (database: PrismaService, url: string) => Promise<T>): Promise<T> {
    const found = await work(this.primary.database, this.primary.url);
    this.reads.primary += 1;
    return found;
  }
}

/** Pages of lists and files of exports. */
export class ListReads extends ReadDatabase {}

/** Sums over many receipts. */
export class ReportReads extends ReadDatabase {}

/** What the statement read was taken away by the log that the replica applies. */
const GAVE_WAY = '40001';
/** The statement took too long: it would on the primary, too. */
const TOO_LONG = '57014';

function isAway(error: unknown): boolean {
  const isCrowded = [error, (error as Error).cause].some(
    (each) => each instanceof Error && each.name === 'PoolExhausted',
  );
  return isDatabaseUnavailable(error) && !isCrowded && sqlStateOf(error) !== TOO_LONG;
}

/** How old the replica is, and what was read where. Without a replica the gauges say that nothing is wrong with it. */
export function observeReads(
  metrics: Metrics,
  { replica, ...kinds }: { replica: Replica | null; lists: ReadDatabase; reports: ReadDatabase },
): void {
  const watch = replica?.watch;
  metrics.gauge(
    {
      name: 'replica_age_seconds',
      help: 'How much the replica may lack; -1 = nothing is known of it',
      together: 'max',
    },
    (gauge) => gauge.set(watch === undefined ? 0 : ageInSeconds(watch)),
  );
  metrics.gauge(
    { name: 'replica_not_read', help: '1 = a replica is set, and the primary is read in its place', together: 'max' },
    (gauge) => gauge.set(watch === undefined || watch.isFresh ? 0 : 1),
  );
  metrics.total(
    { name: 'replica_reads', help: 'Reads that may go to a replica, since the start', labels: ['reads', 'source'] },
    (counter) => {
      for (const [reads, { reads: counts }] of Object.entries(kinds))
        for (const [source, count] of Object.entries(counts)) counter.inc({ reads, source }, count);
    },
  );
}

function ageInSeconds({ ageMs }: ReplicaWatch): number {
  return Number.isFinite(ageMs) ? ageMs / 1_000 : -1;
}
