import { Prisma, type PrismaService } from '#database';
import type { EventHorizon } from '../events/event-horizon.js';

/** Merchants of one round, and of one question. */
const MERCHANTS_AT_ONCE = 50;
const ASKED_AT_ONCE = 200;
/** How often every merchant is asked about, a read of an index each; and how often in each partition of events. */
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ALL_EVERY_MS = 3_600_000;
/** Merchants of one statement of a sweep: it takes milliseconds, also where years of partitions are read for the first time. */
const SWEPT_AT_ONCE = 500;
/** For how long an event may be visible later than those with later positions, and how many positions are read again besides. */
export const SETTLED_MS = 2_000;
const UNDER_WAY = 1_000n;
/** More new ones than this are not read: all merchants are asked about instead. */
const MOST_NEW = 100_000n;

const END_OF_LOG = Prisma.sql`SELECT max(position) FROM events`;

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

interface Sweep {
  /** The last merchant that was asked about. */
  after: string;
  isOfAll: boolean;
}

interface SweptPage {
  /** Null: there are no more merchants. */
  last: string | null;
  may_have_news: string[];
}

/** The last position, and when it was seen first. */
interface LogEnd {
  last: bigint;
  sinceMs: number;
}

/**
 * Which merchants have events of which no delivery was made yet. Twice a second only those are asked about that have new events, and those
 * whose events waited the last time: asking about each of fifty thousand takes PostgreSQL a second. What this does not see, an event whose
 * transaction took long, is found when all are asked, a few seconds later: by the database alone, whatever this process remembers.
 */
export class MerchantsWithNews {
  /** Who has its turn in the pass that is under way. */
  private queue: string[] = [];
  /** Who may have news, or had some that were not read, or not all. */
  private readonly waiting = new Set<string>();
  private sweptAtMs = Number.NEGATIVE_INFINITY;
  private sweptAllAtMs = Number.NEGATIVE_INFINITY;
  /** The sweep under way. */
  private sweep: Sweep | null = null;
  /** It has found some that are not in the queue yet. */
  private hasFound = false;
  /** The end of the log as it was: not all of the last SETTLED_MS, and the newest before. */
  private ends: LogEnd[] = [];
  /** When events up to the end were read last. */
  private readAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly prisma: PrismaService,
    private readonly horizon: EventHorizon,
    private readonly every = { sweepMs: SWEEP_EVERY_MS, sweepAllMs: SWEEP_ALL_EVERY_MS },
  ) {}

  async next(): Promise<Turn> {
    const isDue = performance.now() - this.sweptAtMs >= this.every.sweepMs;
    if (this.sweep !== null || isDue) await this.sweepPage();
    const turn = await this.pass();
    return { ...turn, isMore: turn.isMore || this.sweep !== null || this.hasFound };
  }

  /**
   * Those at whose last event the planner does not stand may have news. Of events of this month, or this and the last one, as what is found
   * here was written lately; once an hour of all, for what a clock far behind has written.
   */
  private async sweepPage(): Promise<void> {
    const isOfAll = performance.now() - this.sweptAllAtMs >= this.every.sweepAllMs;
    const sweep = (this.sweep ??= { after: '', isOfAll });
    try {
      // What comes from here on is seen by the next pass.
      if (sweep.after === '') await this.seeNew();
      const [page] = await this.prisma.$queryRaw<SweptPage[]>(lastNotPlanned(sweep));
      for (const id of page?.may_have_news ?? []) this.waiting.add(id);
      this.hasFound ||= (page?.may_have_news ?? []).length > 0;
      this.sweep = page && page.last !== null ? { ...sweep, after: page.last } : null;
      if (this.sweep !== null) return;
      this.sweptAtMs = performance.now();
      if (sweep.isOfAll) this.sweptAllAtMs = this.sweptAtMs;
    } catch (error) {
      // Those with new events have their turns before it is tried again, and the costly one has to wait for longer.
      this.sweep = null;
      this.sweptAtMs = performance.now() - this.every.sweepMs / 2;
      if (sweep.isOfAll) this.sweptAllAtMs = performance.now() - this.every.sweepAllMs * (5 / 6);
      throw error;
    }
  }

  /** Those with new events, and those that waited. */
  private async pass(): Promise<Turn> {
    if (this.queue.length === 0) {
      if (!(await this.seeNew())) {
        this.sweptAtMs = Number.NEGATIVE_INFINITY;
        return { merchants: [], isMore: true };
      }
      this.queue = [...this.waiting].sort();
      this.hasFound = false;
    }
    const asked = this.queue.slice(0, ASKED_AT_ONCE);
    if (asked.length === 0) return { merchants: [], isMore: false };
    const news = await this.newsOf(asked);
    for (const id of asked) this.waiting.delete(id);
    for (const { id } of news) this.waiting.add(id);
    const found = readable(news);
    this.queue = [...found.slice(MERCHANTS_AT_ONCE), ...this.queue.slice(asked.length)];
    return { merchants: found.slice(0, MERCHANTS_AT_ONCE), isMore: this.queue.length > 0 };
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

  /**
   * Merchants of events that have come since wait from now on, also for those behind a transaction that is under way. Positions are drawn
   * before they are visible: what was the end two seconds ago is where is read from, once more after the last has settled.
   * @returns false: there are too many to be read
   */
  private async seeNew(): Promise<boolean> {
    const end = await this.prisma.ask<bigint | null>(END_OF_LOG);
    const [last, nowMs] = [end ?? 0n, performance.now()];
    const before = this.ends.at(-1);
    const now = before?.last === last ? before : { last, sinceMs: nowMs };
    const from = this.ends.findLast(({ sinceMs }) => nowMs - sinceMs >= SETTLED_MS) ?? this.ends[0];
    const isSettled = this.readAtMs - now.sinceMs > SETTLED_MS;
    const areTooMany = from !== undefined && last - from.last > MOST_NEW;
    if (from !== undefined && !isSettled && !areTooMany) {
      const rows = await this.prisma.$queryRaw<{ merchant_id: string }[]>`
        SELECT DISTINCT merchant_id FROM events WHERE position > ${from.last - UNDER_WAY}::bigint AND position <= ${last}::bigint`;
      for (const { merchant_id: id } of rows) this.waiting.add(id);
    }
    this.readAtMs = nowMs;
    const kept = areTooMany ? [] : this.ends.filter(({ sinceMs }) => from !== undefined && sinceMs >= from.sinceMs);
    this.ends = kept.at(-1) === now ? kept : [...kept, now];
    return !areTooMany;
  }
}

/**
 * Of the next merchants those whose last event is another one than that at which the planner stands. Where not of all events, the bound is
 * that of a partition: with one within a partition, all events of a merchant that rests would be read before it.
 */
export function lastNotPlanned({ after, isOfAll }: Sweep): Prisma.Sql {
  const recent = Prisma.sql`
    AND e.id >= (SELECT coalesce(max(lower_id), '') FROM partitions_of('events') WHERE lower_id <= first_id_at('evt', now() - interval '2 days'))`;
  return Prisma.sql`
    WITH page AS MATERIALIZED (SELECT id FROM merchants WHERE id > ${after} ORDER BY id LIMIT ${SWEPT_AT_ONCE})
    SELECT (SELECT max(id) FROM page HAVING count(*) = ${SWEPT_AT_ONCE}) AS last, ARRAY(
      SELECT m.id FROM page m LEFT JOIN webhook_cursors c ON c.merchant_id = m.id
       CROSS JOIN LATERAL (
         SELECT e.position FROM events e WHERE e.merchant_id = m.id ${isOfAll ? Prisma.empty : recent}
          ORDER BY e.transaction_id DESC, e.position DESC LIMIT 1) AS newest
       WHERE newest.position IS DISTINCT FROM c.position) AS may_have_news`;
}

function readable(news: readonly News[]): string[] {
  return news.filter(({ is_readable: isReadable }) => isReadable).map(({ id }) => id);
}
