import { Periodic, type Logger } from '#runtime';
import { WatchedPool } from './watched-pool.js';

export interface ReplicaWatchOptions {
  primaryUrl: string;
  replicaUrl: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** A replica that may lack what is older than this is not read. */
  maxAgeMs: number;
}

/** What one server answers about itself. */
interface Place {
  /** Cluster, timeline and database: only places of one history can be compared. */
  history: string;
  is_replica: boolean;
  /** Bytes of log: written to disk by a primary, applied by a replica; null = nothing was applied yet. */
  place: string | null;
}

/** Everything that the primary had committed before `atMs` stands in the log before `place`. */
interface Mark {
  atMs: number;
  place: bigint;
}

/**
 * The timeline of a primary is that of the log which it writes; that of a replica stands in its control file, which lags behind: after a
 * failover a replica is read again from its next checkpoint on.
 */
const ASK = `
  SELECT (pg_control_system()).system_identifier::text || '/' || current_database() || '/' ||
         CASE WHEN pg_is_in_recovery() THEN lpad(upper(to_hex((pg_control_checkpoint()).timeline_id)), 8, '0')
              ELSE substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) END AS history,
         pg_is_in_recovery() AS is_replica,
         ((CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END) - '0/0'::pg_lsn)::text AS place`;

const STATEMENT_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_000;
/** Questions within the age that is allowed, so that a replica which keeps up is always known to. */
const QUESTIONS = 10;
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 1_000];

/**
 * How old a read from the replica may be, proven without a clock: the primary is asked how far its log is, and the replica whether it
 * has applied as much. What a replica says of its own delay is worth nothing while its line to the primary is cut.
 */
export class ReplicaWatch {
  private readonly primary: WatchedPool;
  private readonly replica: WatchedPool;
  private readonly periodic: Periodic;
  private readonly maxAgeMs: number;
  private marks: Mark[] = [];
  private asOfMs = -Infinity;
  /** Since when both are asked, and their answers can be compared. */
  private comparedSinceMs = 0;
  private whyNot: string | null = null;

  constructor(
    options: ReplicaWatchOptions,
    private readonly logger: Logger,
  ) {
    const poolOf = (url: string): WatchedPool =>
      new WatchedPool({
        ...{ url, applicationName: options.applicationName, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
        ...{ connectTimeoutMs: CONNECT_TIMEOUT_MS, size: 1, maxWaiting: 1 },
      });
    this.primary = poolOf(options.primaryUrl);
    this.replica = poolOf(options.replicaUrl);
    this.maxAgeMs = options.maxAgeMs;
    const everyMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, options.maxAgeMs / QUESTIONS));
    this.periodic = new Periodic({ name: 'asking the replica', everyMs, run: () => this.ask() }, logger);
  }

  /** A read from the replica at this moment lacks nothing that was committed longer ago. Infinity: nothing is known. */
  get ageMs(): number {
    return performance.now() - this.asOfMs;
  }

  get isFresh(): boolean {
    return this.ageMs <= this.maxAgeMs;
  }

  /** It did not answer a read: it is not used until it has answered here again. */
  distrust(): void {
    this.asOfMs = -Infinity;
  }

  start(): void {
    this.periodic.start();
  }

  async stop(): Promise<void> {
    await this.periodic.stop();
    await Promise.all([this.primary.end(), this.replica.end()]);
  }

  /** One question to each. */
  async ask(): Promise<void> {
    let replica: Place;
    try {
      replica = await askOne(this.replica);
    } catch (error) {
      this.refuse('it does not answer', error);
      return;
    }
    const atMs = performance.now();
    const primary = await askOne(this.primary).catch((error: unknown) => {
      // What is known of the replica grows old by itself.
      this.logger.debug({ err: error }, 'the primary does not say how far its log is');
      return null;
    });
    if (primary !== null) this.judge(replica, primary, atMs);
  }

  private judge(replica: Place, primary: Place, atMs: number): void {
    const why = whyNotComparable(replica, primary);
    if (why !== null) return this.refuse(why);
    const [applied, written] = [BigInt(replica.place ?? 0), BigInt(primary.place ?? 0)];
    // It was asked first. A primary that was put back to an earlier state has less than its replica.
    if (applied > written) return this.refuse('it has more than the primary');
    const covered = this.marks.findLast(({ place }) => place <= applied);
    if (covered && covered.atMs > this.asOfMs) this.asOfMs = covered.atMs;
    if (this.marks.length === 0) this.comparedSinceMs = atMs;
    const oldest = Math.max(this.asOfMs, atMs - this.maxAgeMs);
    this.marks = [...this.marks.filter((mark) => mark.atMs >= oldest), { atMs, place: written }];
    if (this.isFresh) this.note(null);
    else if (atMs - this.comparedSinceMs > this.maxAgeMs) this.note('it is too far behind');
  }

  private refuse(why: string, error?: unknown): void {
    this.asOfMs = -Infinity;
    this.marks = [];
    this.note(why, error);
  }

  private note(why: string | null, error?: unknown): void {
    if (this.whyNot === why) return;
    this.whyNot = why;
    if (why === null) this.logger.info('the replica is read again');
    else this.logger.warn({ err: error, why }, 'the replica is not read');
  }
}

async function askOne(server: WatchedPool): Promise<Place> {
  const asking: Promise<{ rows: Place[] }> = server.query<Place>(ASK);
  const [place] = (await asking).rows;
  if (!place) throw new Error('the server says nothing about itself');
  return place;
}

function whyNotComparable(replica: Place, primary: Place): string | null {
  if (primary.is_replica) return 'DATABASE_URL leads to a replica';
  if (!replica.is_replica) return 'READ_DATABASE_URL leads to no replica';
  if (replica.history !== primary.history) return 'it follows another history than the primary has';
  return replica.place === null ? 'it has applied nothing yet' : null;
}
