import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ReportDatabase, ReportReads } from '#database';
import type { ReceiptStatus } from '#fiscal-domain';
import { countUnknown, isFinalStatus } from '#ledger';
import { systemClock } from '#runtime';
import type { IsCallerGone } from '../../http/caller-gone.js';
import { PLATFORM } from '../../http/roles.js';
import { ReportGate } from '../../receipts/reports/report-gate.js';
import { countdowns, countdownView, type CountdownRow } from './countdown-rows.js';
import type {
  CountAndTotal,
  MerchantCounts,
  OverviewMerchant,
  PlatformCountdown,
  PlatformLatency,
  PlatformOverview,
} from './overview-view.js';
import { byMinute, percentilesOf, type BucketRow } from './percentiles.js';
import {
  addedUp,
  countAndTotal,
  DAYS,
  dayName,
  dayStart,
  MAX_WAITING,
  overviewDay,
  overviewSums,
  placesOf,
  sumsOfAll,
  underWayOfAll,
  type GroupRow,
  type MerchantSumRow,
} from './receipt-sums.js';
import { shared } from './shared-reading.js';

/** How often a day that is over, and in which something is under way yet, is asked whether that has changed. */
const BEFORE_TODAY_MS = 60 * 60_000;
/** Longer than any transaction that accepts receipts, and than a replica may lag: a day that ended so long ago is all there. */
const WHOLE_AFTER_MS = 15 * 60_000;
const EARLIER_TODAY_MS = 10 * 60_000;
const NOW_MS = 60_000;
const MAX_MERCHANTS = 500;
/** Merchants of one day that have sums of their own; of more only those that sold most. */
const MAX_OF_DAY = 5_000;
const MAX_COUNTDOWNS = 50;
const HOUR_MS = 3_600_000;
/** Nothing is under way. */
const NOTHING = '';

interface UnderWayRow {
  status: ReceiptStatus;
  count: number;
}

interface DayOfAll {
  rows: readonly GroupRow[];
  merchants: ReadonlyMap<string, CountAndTotal>;
}

/** A day that is over. */
interface PastDay {
  sums: DayOfAll;
  /** How many receipts were under way, by status. */
  underWay: string;
  /** All its receipts were there when it was read. */
  isWhole: boolean;
  checkedAt: number;
}

/** What is true at this moment. */
interface Present {
  at: Date;
  /** The last hour of today and what came of the one before. */
  latest: DayOfAll;
  merchants: MerchantCounts;
  waiting: number;
  latency: PlatformLatency;
  countdowns: PlatformCountdown[];
}

/**
 * GET /v1/platform/overview. A day is read by itself and kept: no statement reads more than a day of all merchants, and a first reading
 * that is refused for lack of a place has made progress. A day that is over is read once, and again only when what was under way in it
 * has moved. Of today each hour is read by itself: what is read once a minute is two hours.
 */
@Injectable()
export class ReadPlatformOverview {
  private readonly past = new LRUCache<string, PastDay>({ max: DAYS });
  /** Those that are being read. */
  private readonly reading = new LRUCache<string, Promise<DayOfAll>>({ max: DAYS });
  private readonly hours = new LRUCache<string, Promise<DayOfAll>>({ max: 24, ttl: EARLIER_TODAY_MS });
  private readonly present = new LRUCache<string, Promise<Present>>({ max: 1, ttl: NOW_MS });

  constructor(
    private readonly reports: ReportDatabase,
    private readonly reads: ReportReads,
    private readonly gate: ReportGate,
  ) {}

  /** @throws Problem 503 with Retry-After when too many reports wait already */
  async execute(isCallerGone: IsCallerGone, now = systemClock.now()): Promise<PlatformOverview> {
    const run = <T>(make: () => Promise<T>): Promise<T> => this.gate.run(PLATFORM, isCallerGone, make);
    const before: DayOfAll[] = [];
    for (let ago = DAYS - 1; ago > 0; ago -= 1) {
      const [from, to] = [dayStart(now, ago), dayStart(now, ago - 1)];
      const known = this.past.get(dayName(from));
      if (known && !isDue(known, now)) before.push(known.sums);
      else before.push(await shared(this.reading, dayName(from), () => run(() => this.pastDay(from, to, now))));
    }
    const key = dayName(dayStart(now, 0));
    const { latest, at, ...present } = await shared(this.present, key, () => run(() => this.read(now)));
    const earlier: DayOfAll[] = [];
    for (const from of hoursUntil(at)) {
      const to = new Date(from.getTime() + HOUR_MS);
      earlier.push(await shared(this.hours, from.toISOString(), () => run(() => this.day(from, to))));
    }
    const today = joined([...earlier, latest]);
    const rows = [...before, today].flatMap((day) => day.rows);
    const older = addedUp(before.map(({ merchants }) => merchants));
    return {
      generated_at: at.toISOString(),
      merchants: present.merchants,
      waiting_for_person: present.waiting,
      today: overviewSums(today.rows),
      last_30_days: overviewSums(rows),
      days: Array.from({ length: DAYS }, (_, index) => overviewDay(dayName(dayStart(now, DAYS - 1 - index)), rows)),
      by_merchant: await this.named(placesOf(older, today.merchants, MAX_MERCHANTS)),
      latency: present.latency,
      countdowns: present.countdowns,
    };
  }

  private async pastDay(from: Date, to: Date, now: Date): Promise<DayOfAll> {
    const name = dayName(from);
    const checkedAt = now.getTime();
    try {
      const known = this.past.get(name);
      if (known?.isWhole === true && known.underWay === (await this.underWay(from, to))) {
        this.past.set(name, { ...known, checkedAt });
        return known.sums;
      }
      const sums = await this.day(from, to);
      const isWhole = checkedAt - to.getTime() > WHOLE_AFTER_MS;
      this.past.set(name, { sums, underWay: wordsOf(underWayOf(sums.rows)), isWhole, checkedAt });
      return sums;
    } finally {
      this.reading.delete(name);
    }
  }

  private async underWay(from: Date, to: Date): Promise<string> {
    return wordsOf(await this.reads.read((database) => database.queryPlanned<UnderWayRow>(underWayOfAll(from, to))));
  }

  private async day(from: Date, to: Date): Promise<DayOfAll> {
    const rows = await this.reads.read((database) => database.queryPlanned<MerchantSumRow>(sumsOfAll(from, to)));
    const merchants = rows.flatMap((row): [string, CountAndTotal][] =>
      row.merchant_id === null || row.count === 0 ? [] : [[row.merchant_id, countAndTotal(row)]],
    );
    merchants.sort(([, one], [, other]) => other.total - one.total);
    return {
      rows: rows.filter(({ day }) => day !== null),
      merchants: new Map(merchants.slice(0, MAX_OF_DAY)),
    };
  }

  private async read(at: Date): Promise<Present> {
    return {
      at,
      latest: await this.day(latestStart(at), dayStart(at, -1)),
      merchants: await this.counts(),
      waiting: await countUnknown(this.reports, MAX_WAITING),
      latency: await this.latency(at),
      countdowns: await this.countdowns(),
    };
  }

  private async counts(): Promise<MerchantCounts> {
    const [row] = await this.reports.$queryRaw<MerchantCounts[]>`
      SELECT (count(*) FILTER (WHERE mode = 'live'))::float8 AS live, (count(*) FILTER (WHERE mode = 'sandbox'))::float8 AS sandbox,
             count(suspended_at)::float8 AS suspended FROM merchants`;
    return row ?? { live: 0, sandbox: 0, suspended: 0 };
  }

  private async latency(now: Date): Promise<PlatformLatency> {
    const rows = await this.reports.$queryRaw<BucketRow[]>`
      SELECT minute, bucket, sum(count)::float8 AS count, max(max_ms) AS max_ms
        FROM latency_minutes
       WHERE minute > ${new Date(now.getTime() - HOUR_MS)}::timestamptz AND NOT starts_with(merchant_id, 'mer_test_')
       GROUP BY minute, bucket ORDER BY minute, bucket`;
    return { last_hour: percentilesOf(rows), minutes: byMinute(rows) };
  }

  private async countdowns(): Promise<PlatformCountdown[]> {
    const rows = await this.reports.$queryRaw<CountdownRow[]>(countdowns(null, MAX_COUNTDOWNS));
    return rows.map((row) => ({ ...countdownView(row), merchant_id: row.merchant_id }));
  }

  private async named(
    places: ReadonlyMap<string, { today: CountAndTotal; last_30_days: CountAndTotal }>,
  ): Promise<OverviewMerchant[]> {
    const rows = await this.reports.$queryRaw<{ id: string; name: string }[]>`
      SELECT id, name FROM merchants WHERE id = ANY(${[...places.keys()]}::text[])`;
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    return [...places].map(([id, sums]) => ({ merchant_id: id, name: names.get(id) ?? '', ...sums }));
  }
}

/** A day that was whole, and in which nothing was under way, never changes. */
function isDue({ isWhole, underWay, checkedAt }: PastDay, now: Date): boolean {
  return !(isWhole && underWay === NOTHING) && now.getTime() - checkedAt > BEFORE_TODAY_MS;
}

/** Of a day by status and type. */
function underWayOf(rows: readonly GroupRow[]): UnderWayRow[] {
  const counts = new Map<ReceiptStatus, number>();
  for (const { status, count } of rows)
    if (status !== null && !isFinalStatus(status)) counts.set(status, (counts.get(status) ?? 0) + count);
  return [...counts].map(([status, count]) => ({ status, count }));
}

/** Counts as a text that can be compared. */
function wordsOf(rows: readonly UnderWayRow[]): string {
  const words = rows.filter(({ count }) => count > 0).map(({ status, count }) => `${status} ${String(count)}`);
  return words.sort().join(', ');
}

/** Where the hour before the present one begins, or today. Days of Tashkent begin on a full hour. */
function latestStart(at: Date): Date {
  const hourBefore = (Math.floor(at.getTime() / HOUR_MS) - 1) * HOUR_MS;
  return new Date(Math.max(hourBefore, dayStart(at, 0).getTime()));
}

/** The hours of today before those. */
function hoursUntil(at: Date): Date[] {
  const [first, end] = [dayStart(at, 0).getTime(), latestStart(at).getTime()];
  return Array.from({ length: (end - first) / HOUR_MS }, (_, hour) => new Date(first + hour * HOUR_MS));
}

function joined(parts: readonly DayOfAll[]): DayOfAll {
  return { rows: parts.flatMap(({ rows }) => rows), merchants: addedUp(parts.map(({ merchants }) => merchants)) };
}
