import { LATENCY_BOUNDS_MS, LATENCY_KEPT_HOURS, Prisma, type PrismaService } from '#database';
import { Periodic, type Logger } from '#runtime';

/** From one statement to the next: what has settled meanwhile is counted together. */
const COUNT_EVERY_MS = 5_000;
const CLEAR_EVERY_MS = 600_000;
/** Of one statement, and what waits at most: a histogram may lack some, the lanes wait for nothing. */
const MAX_WAITING = 20_000;
const CLEARED_AT_ONCE = 10_000;

/**
 * How long receipts took from accepted to registered, in histograms of minutes: for people who want to see it (GET /v1/overview).
 * A relay that dies takes the last seconds of it along.
 */
export class LatencyMinutes {
  private waiting: { id: string; atMs: number }[] = [];
  private readonly counting: Periodic;
  private readonly clearing: Periodic;

  constructor(
    private readonly prisma: PrismaService,
    logger: Logger,
  ) {
    const name = 'counting how long receipts took';
    this.counting = new Periodic({ name, everyMs: COUNT_EVERY_MS, run: () => this.count() }, logger);
    this.clearing = new Periodic(
      { name: 'clearing old minutes', everyMs: CLEAR_EVERY_MS, startsAfterMs: COUNT_EVERY_MS, run: () => this.clear() },
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.counting.start();
    this.clearing.start();
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([this.counting.stop(), this.clearing.stop()]);
  }

  /** It has left its lane just now. */
  note(receiptId: string): void {
    if (this.waiting.length < MAX_WAITING) this.waiting.push({ id: receiptId, atMs: performance.now() });
  }

  /** Of what has settled only the registered ones are counted. */
  private async count(): Promise<void> {
    const settled = this.waiting;
    if (settled.length === 0) return;
    this.waiting = [];
    const nowMs = performance.now();
    await this.prisma.$executeRaw(
      latencyCounts(
        settled.map(({ id }) => id),
        settled.map(({ atMs }) => Math.round(nowMs - atMs)),
      ),
    );
  }

  /** @returns whether there is more */
  private async clear(): Promise<boolean> {
    const cleared = await this.prisma.$executeRaw`
      DELETE FROM latency_minutes WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM latency_minutes WHERE minute < now() - make_interval(hours => ${LATENCY_KEPT_HOURS}::int4)
         LIMIT ${CLEARED_AT_ONCE}))`;
    return cleared === CLEARED_AT_ONCE;
  }
}

/** @param agesMs how long ago each left its lane, by this process; the database's clock says when that was */
export function latencyCounts(ids: readonly string[], agesMs: readonly number[]): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO latency_minutes AS m (merchant_id, minute, bucket, count, max_ms)
    SELECT merchant_id, date_trunc('minute', at), width_bucket(ms, ${[...LATENCY_BOUNDS_MS]}::int4[]), count(*), max(ms)
      FROM (SELECT r.merchant_id, s.at, least(greatest(extract(epoch FROM s.at - r.created_at) * 1000, 0), 2147483647)::int4 AS ms
              FROM (SELECT id, now() - make_interval(secs => age / 1000.0) AS at
                      FROM unnest(${[...ids]}::text[], ${[...agesMs]}::float8[]) AS u(id, age)) AS s
              JOIN receipts r ON r.id = s.id AND r.status = 'registered') AS settled
     GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (merchant_id, minute, bucket)
    DO UPDATE SET count = m.count + excluded.count, max_ms = greatest(m.max_ms, excluded.max_ms)`;
}
