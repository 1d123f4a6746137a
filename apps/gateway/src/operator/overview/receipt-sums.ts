import { Prisma, SURPLUS_OPERATION } from '#database';
import { prefixOf, type ReceiptStatus, type ReceiptType } from '#fiscal-domain';
import { idAt } from '../../http/id-times.js';
import type { CountAndTotal, OverviewDay, OverviewSums } from './overview-view.js';

const DAY_MS = 86_400_000;
/** Tashkent has no summer time. */
const OFFSET_MS = 5 * 3_600_000;
export const DAYS = 30;
/** Receipts of one span that may change yet and are read again by their ids. */
export const MAX_UNDER_WAY = 500;
/** Receipts that wait for a person are counted so far. */
export const MAX_WAITING = 5_000;
/** Places of one merchant that have sums of their own; of more only those that sold most. */
const MAX_PLACES = 2_000;

/** One group: of a day, or of a place over all of the time. */
export interface GroupRow {
  day: string | null;
  status: ReceiptStatus | null;
  /** Also null: the refund of a surplus document, see {@link COUNTED_TYPE}. */
  type: ReceiptType | null;
  count: number;
  /** As text: a sum of bigint is numeric. */
  total: string;
  /** Of a day alone. */
  vat: string;
}

/** Of all merchants. */
export interface MerchantSumRow extends GroupRow {
  merchant_id: string | null;
}

/** Of one merchant. */
export interface SumRow extends GroupRow {
  branch_id: string | null;
  device_id: string | null;
  kind: 'day' | 'branch' | 'device' | 'under_way';
  /** Of `under_way` alone: what may change yet. */
  ids: string[] | null;
}

/** Sums of some days, small enough to be kept. */
export interface DaySums {
  rows: readonly GroupRow[];
  branches: ReadonlyMap<string, CountAndTotal>;
  devices: ReadonlyMap<string, CountAndTotal>;
}

/**
 * The refund of a surplus document counts as the receipt that it is, and is no refund: what it takes back stands among no sales, as in the
 * turnover (reports/turnover.ts).
 */
const COUNTED_TYPE = Prisma.sql`CASE WHEN operation <> ${SURPLUS_OPERATION} THEN type END AS type`;

/** When a day of Tashkent begins, as many days before today's as are asked for. */
export function dayStart(now: Date, daysAgo: number): Date {
  const today = Math.floor((now.getTime() + OFFSET_MS) / DAY_MS);
  return new Date((today - daysAgo) * DAY_MS - OFFSET_MS);
}

export function dayName(start: Date): string {
  return new Date(start.getTime() + OFFSET_MS).toISOString().slice(0, 10);
}

/**
 * What was accepted from one time to another, read once: by day, status and type, the registered sales of each branch and device, and what
 * is under way. The ids narrow what is read, as in the search of receipts.
 */
export function sumsBetween(merchantId: string, from: Date, to: Date): Prisma.Sql {
  const prefix = prefixOf('rcp', merchantId);
  return sumsWhere(Prisma.sql`
    merchant_id = ${merchantId} AND id >= ${idAt(prefix, from, -1)} AND id < ${idAt(prefix, to, 1)}
    AND created_at >= ${from}::timestamptz AND created_at < ${to}::timestamptz`);
}

/** The same of these receipts. */
export function sumsOf(merchantId: string, ids: readonly string[]): Prisma.Sql {
  return sumsWhere(Prisma.sql`merchant_id = ${merchantId} AND id = ANY(${[...ids]}::text[])`);
}

function sumsWhere(within: Prisma.Sql): Prisma.Sql {
  const columns = Prisma.sql`
    to_char(created_at AT TIME ZONE 'UTC' + interval '5 hours', 'YYYY-MM-DD') AS day, status, ${COUNTED_TYPE},
    branch_id, device_id, total_tiyin, vat_total_tiyin`;
  const isSale = Prisma.sql`status = 'registered' AND type = 'sale'`;
  const underWay = Prisma.sql`
    receipts WHERE status IN ('awaiting_payment', 'accepted', 'sending', 'unknown') AND ${within}`;
  return Prisma.sql`
    SELECT day, status, type, branch_id, device_id,
           CASE WHEN GROUPING(day) = 0 THEN 'day' WHEN GROUPING(branch_id) = 0 THEN 'branch' ELSE 'device' END AS kind,
           (CASE WHEN GROUPING(day) = 0 THEN count(*) ELSE count(*) FILTER (WHERE ${isSale}) END)::int4 AS count,
           coalesce(CASE WHEN GROUPING(day) = 0 THEN sum(total_tiyin)
                         ELSE sum(total_tiyin) FILTER (WHERE ${isSale}) END, 0)::text AS total,
           coalesce(CASE WHEN GROUPING(day) = 0 THEN sum(vat_total_tiyin) END, 0)::text AS vat, NULL::text[] AS ids
      FROM (SELECT ${columns} FROM receipts WHERE status IN ('registered', 'rejected', 'cancelled') AND ${within}
            UNION ALL
            SELECT ${columns} FROM ${underWay}) AS r
     GROUP BY GROUPING SETS ((day, status, type), (branch_id), (device_id))
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, 'under_way', 0, '0', '0', ARRAY(SELECT id FROM ${underWay} LIMIT ${MAX_UNDER_WAY + 1})`;
}

/** What was accepted on one day of all live merchants: by status and type, and the registered sales of each merchant. */
export function sumsOfAll(from: Date, to: Date): Prisma.Sql {
  const isSale = Prisma.sql`status = 'registered' AND type = 'sale'`;
  return Prisma.sql`
    SELECT CASE WHEN GROUPING(status) = 0 THEN ${dayName(from)} END AS day, status, type, merchant_id,
           (CASE WHEN GROUPING(status) = 0 THEN count(*) ELSE count(*) FILTER (WHERE ${isSale}) END)::float8 AS count,
           coalesce(CASE WHEN GROUPING(status) = 0 THEN sum(total_tiyin)
                         ELSE sum(total_tiyin) FILTER (WHERE ${isSale}) END, 0)::text AS total,
           coalesce(CASE WHEN GROUPING(status) = 0 THEN sum(vat_total_tiyin) END, 0)::text AS vat
      FROM (SELECT status, ${COUNTED_TYPE}, merchant_id, total_tiyin, vat_total_tiyin FROM receipts
             WHERE id >= ${idAt('rcp', from, -1)} AND id < ${idAt('rcp', to, 1)}
               AND created_at >= ${from}::timestamptz AND created_at < ${to}::timestamptz) AS r
     GROUP BY GROUPING SETS ((status, type), (merchant_id))`;
}

/** What is under way of one day of all live merchants, by status. Few rows of a partial index, however large the day is. */
export function underWayOfAll(from: Date, to: Date): Prisma.Sql {
  return Prisma.sql`
    SELECT status, count(*)::float8 AS count FROM receipts
     WHERE status IN ('awaiting_payment', 'accepted', 'sending', 'unknown')
       AND id >= ${idAt('rcp', from, -1)} AND id < ${idAt('rcp', to, 1)}
       AND created_at >= ${from}::timestamptz AND created_at < ${to}::timestamptz
     GROUP BY status`;
}

export function daySums(rows: readonly SumRow[]): DaySums {
  const placesOf = (kind: 'branch' | 'device'): Map<string, CountAndTotal> => {
    const found = rows.flatMap((row): [string, CountAndTotal][] => {
      const id = kind === 'branch' ? row.branch_id : row.device_id;
      return row.kind === kind && id !== null && row.count > 0 ? [[id, countAndTotal(row)]] : [];
    });
    return new Map(found.sort(([, one], [, other]) => other.total - one.total).slice(0, MAX_PLACES));
  };
  return {
    rows: rows.flatMap(({ kind, day, status, type, count, total, vat }) =>
      kind === 'day' ? [{ day, status, type, count, total, vat }] : [],
    ),
    branches: placesOf('branch'),
    devices: placesOf('device'),
  };
}

export function overviewSums(rows: readonly GroupRow[]): OverviewSums {
  const of = (status: ReceiptStatus): CountAndTotal => added(rows.filter((row) => row.status === status));
  const registered = rows.filter(({ status }) => status === 'registered');
  const ofType = (wanted: ReceiptType): GroupRow[] => registered.filter(({ type }) => type === wanted);
  const [sales, refunds] = [added(ofType('sale')), added(ofType('refund'))];
  return {
    by_status: {
      awaiting_payment: of('awaiting_payment'),
      accepted: of('accepted'),
      sending: of('sending'),
      registered: of('registered'),
      rejected: of('rejected'),
      unknown: of('unknown'),
      cancelled: of('cancelled'),
    },
    sales,
    refunds,
    net: sales.total - refunds.total,
    net_vat: vatOf(ofType('sale')) - vatOf(ofType('refund')),
  };
}

export function overviewDay(day: string, rows: readonly GroupRow[]): OverviewDay {
  const { sales, refunds, by_status: byStatus } = overviewSums(rows.filter((row) => row.day === day));
  return { day, registered: sales, refunds, rejected: byStatus.rejected.count };
}

/** Of each place the sums of today beside those of all days. */
export function placesOf(
  before: ReadonlyMap<string, CountAndTotal>,
  today: ReadonlyMap<string, CountAndTotal>,
  most: number,
): Map<string, { today: CountAndTotal; last_30_days: CountAndTotal }> {
  const places = [...addedUp([before, today])].map(
    ([id, all]) => [id, { today: today.get(id) ?? NOTHING, last_30_days: all }] as const,
  );
  return new Map(places.sort(([, one], [, other]) => other.last_30_days.total - one.last_30_days.total).slice(0, most));
}

function vatOf(rows: readonly GroupRow[]): number {
  return rows.reduce((sum, { vat }) => sum + Number(vat), 0);
}

function added(rows: readonly GroupRow[]): CountAndTotal {
  return rows.map(countAndTotal).reduce(plus, NOTHING);
}

/** What each has in all of the parts together. */
export function addedUp(parts: readonly ReadonlyMap<string, CountAndTotal>[]): Map<string, CountAndTotal> {
  const sums = new Map<string, CountAndTotal>();
  for (const [id, sum] of parts.flatMap((part) => [...part])) sums.set(id, plus(sums.get(id) ?? NOTHING, sum));
  return sums;
}

const NOTHING: CountAndTotal = { count: 0, total: 0 };

function plus(one: CountAndTotal, other: CountAndTotal): CountAndTotal {
  return { count: one.count + other.count, total: one.total + other.total };
}

export function countAndTotal({ count, total }: GroupRow): CountAndTotal {
  return { count, total: Number(total) };
}
