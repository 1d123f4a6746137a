import type { PrismaService } from '#database';
import type { EventHorizon } from '../events/event-horizon.js';

/** Of one round. */
const MERCHANTS_AT_ONCE = 50;
/** How often every merchant is asked about, one read of an index each. */
const SWEEP_EVERY_MS = 10_000;
/** Positions that may have been drawn before those that were seen, and be visible after them. */
const UNDER_WAY = 1_000n;
/** More new ones than this are not read: all merchants are asked about instead. */
const MOST_NEW = 100_000n;
/** For how long after the last new one such are expected. */
export const SETTLED_MS = 2_000;

/** Merchants for whom there may be something to plan, in the order of their turns. */
export interface Turn {
  merchants: string[];
  /** Others may have their turn at once. */
  isMore: boolean;
}

interface News {
  id: string;
  /** Not behind a transaction that is under way. */
  is_readable: boolean;
}

/**
 * Which merchants have events of which no delivery was made yet. Twice a second only those are asked about that have new events, and those
 * whose events waited the last time: asking about each of fifty thousand takes PostgreSQL a second. What this does not see, an event whose
 * transaction took long, is found when all are asked, a few seconds later: by the database alone, whatever this process remembers.
 */
export class MerchantsWithNews {
  /** Who has its turn in the pass that is under way. */
  private queue: string[] = [];
  /** Who had news that were not read, or not all. */
  private readonly waiting = new Set<string>();
  private sweptAtMs = Number.NEGATIVE_INFINITY;
  /** The last merchant of the sweep under way; null: none is. */
  private sweepAfter: string | null = null;
  /** Events up to here have been seen, and since when there is none behind it; null: none yet. */
  private seen: { last: bigint; sinceMs: number } | null = null;

  constructor(
    private readonly prisma: PrismaService,
    private readonly horizon: EventHorizon,
    private readonly sweepEveryMs = SWEEP_EVERY_MS,
  ) {}

  async next(): Promise<Turn> {
    const isDue = performance.now() - this.sweptAtMs >= this.sweepEveryMs;
    return this.sweepAfter !== null || isDue ? this.sweep() : this.pass();
  }

  /** All merchants, by their ids. */
  private async sweep(): Promise<Turn> {
    if (this.sweepAfter === null) await this.seeNew();
    const after = this.sweepAfter ?? '';
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT m.id FROM merchants m
        LEFT JOIN webhook_cursors c ON c.merchant_id = m.id
        LEFT JOIN events b ON b.position = c.position
       CROSS JOIN LATERAL (
         SELECT FROM events e
          WHERE e.merchant_id = m.id
            AND (e.transaction_id, e.position) > (coalesce(b.transaction_id, '0'::xid8), coalesce(c.position, 0))
            AND e.transaction_id < ${this.horizon.limit}
          LIMIT 1) AS news
       WHERE m.id > ${after}
       ORDER BY m.id LIMIT ${MERCHANTS_AT_ONCE}`;
    const merchants = rows.map(({ id }) => id);
    for (const id of merchants) this.waiting.add(id);
    const isFull = merchants.length === MERCHANTS_AT_ONCE;
    this.sweepAfter = isFull ? (merchants.at(-1) ?? null) : null;
    if (!isFull) this.sweptAtMs = performance.now();
    return { merchants, isMore: isFull || after !== '' };
  }

  /** Those with new events, and those that waited. */
  private async pass(): Promise<Turn> {
    if (this.queue.length === 0) {
      await this.seeNew();
      this.queue = [...this.waiting].sort();
    }
    const asked = this.queue.splice(0, MERCHANTS_AT_ONCE);
    if (asked.length === 0) return { merchants: [], isMore: false };
    const news = await this.newsOf(asked);
    for (const id of asked) this.waiting.delete(id);
    for (const { id } of news) this.waiting.add(id);
    const merchants = news.filter((each) => each.is_readable).map(({ id }) => id);
    return { merchants, isMore: this.queue.length > 0 };
  }

  /** The first event of each that is not planned yet. */
  private newsOf(merchants: readonly string[]): Promise<News[]> {
    return this.prisma.$queryRaw<News[]>`
      SELECT m.id, news.transaction_id < ${this.horizon.limit} AS is_readable FROM unnest(${[...merchants]}::text[]) AS m(id)
        LEFT JOIN webhook_cursors c ON c.merchant_id = m.id
        LEFT JOIN events b ON b.position = c.position
       CROSS JOIN LATERAL (
         SELECT e.transaction_id FROM events e
          WHERE e.merchant_id = m.id
            AND (e.transaction_id, e.position) > (coalesce(b.transaction_id, '0'::xid8), coalesce(c.position, 0))
          ORDER BY e.transaction_id, e.position LIMIT 1) AS news
       ORDER BY m.id`;
  }

  /** Merchants of events that have come since wait from now on, also for those behind a transaction that is under way. */
  private async seeNew(): Promise<void> {
    const [end] = await this.prisma.$queryRaw<{ last: bigint | null }[]>`SELECT max(position) AS last FROM events`;
    const last = end?.last ?? 0n;
    const [before, nowMs] = [this.seen, performance.now()];
    this.seen = before?.last === last ? before : { last, sinceMs: nowMs };
    if (before === null || nowMs - this.seen.sinceMs > SETTLED_MS) return;
    if (last - before.last > MOST_NEW) {
      this.sweptAtMs = Number.NEGATIVE_INFINITY;
      return;
    }
    const rows = await this.prisma.$queryRaw<{ merchant_id: string }[]>`
      SELECT DISTINCT merchant_id FROM events WHERE position > ${before.last - UNDER_WAY}::bigint AND position <= ${last}::bigint`;
    for (const { merchant_id: id } of rows) this.waiting.add(id);
  }
}
