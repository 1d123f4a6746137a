import { Injectable } from '@nestjs/common';
import { Prisma, ReportReads, SURPLUS_OPERATION } from '#database';
import { Problem } from '#problems';
import { systemClock } from '#runtime';
import { readWhole } from '../missing-receipt.js';
import { inItsTurn, periodOf, spanOf, type Period, type TurnoverGroup, type TurnoverQuery } from './report-queries.js';

/** Sums in tiyin. By VAT rate `cash` and `card` are null: money is paid for a receipt, not for a line. */
interface Sums {
  count: number;
  total: number;
  vat: number;
  cash: number | null;
  card: number | null;
}

export interface TurnoverRow {
  /** Day of Tashkent, id of the device, branch or cashier, or VAT percent. Empty: the receipt names none. */
  key: string;
  sales: Sums;
  refunds: Sums;
  /** Sales less refunds. */
  net_total: number;
  net_vat: number;
}

export interface TurnoverView {
  by: TurnoverGroup;
  from: string;
  to: string;
  data: TurnoverRow[];
  /** The whole period is one answer. */
  next_cursor: null;
}

interface Row {
  key: string;
  [sum: string]: string;
}

/**
 * What registers have registered, by the day of Tashkent on which they did: sales and refunds, as in a Z-report. Advances and
 * credits are no turnover, nor is a surplus document: what it added to its sale, its refund takes away again.
 */
@Injectable()
export class Turnover {
  constructor(private readonly reads: ReportReads) {}

  /** @throws Problem 422 for a period that cannot be, or whose sums JSON cannot carry; 410 */
  async report(merchantId: string, query: TurnoverQuery): Promise<TurnoverView> {
    const period = periodOf(query, systemClock.now());
    const rows = await this.reads.read((database) =>
      readWhole(database, { merchantId, spans: [spanOf(period)] }, () =>
        database.$queryRaw<Row[]>(statementOf(query.by, merchantId, period)),
      ),
    );
    const data = rows.map((row) => rowView(row, query.by === 'vat'));
    return { by: query.by, from: period.from, to: period.to, data, next_cursor: null };
  }
}

function statementOf(by: TurnoverGroup, merchantId: string, { fromMs, endMs }: Period): Prisma.Sql {
  const registered = Prisma.sql`
    ${inItsTurn(merchantId)} AND merchant_id = ${merchantId} AND status = 'registered' AND type NOT IN ('advance', 'credit')
    AND operation <> ${SURPLUS_OPERATION}
    AND registered_at >= ${new Date(fromMs)}::timestamptz AND registered_at < ${new Date(endMs)}::timestamptz`;
  if (by === 'vat') return byVat(registered);
  const key = {
    day: Prisma.sql`to_char(registered_at AT TIME ZONE 'UTC' + interval '5 hours', 'YYYY-MM-DD')`,
    device: Prisma.sql`device_id`,
    branch: Prisma.sql`branch_id`,
    cashier: Prisma.sql`cashier_id`,
  }[by];
  const cash = Prisma.sql`(document -> 'payment' ->> 'cashTiyin')::bigint`;
  const card = Prisma.sql`(document -> 'payment' ->> 'cardTiyin')::bigint`;
  return Prisma.sql`
    SELECT coalesce(${key}, '') AS key,
           ${sums('sale', { count: Prisma.sql`count(*)`, total: Prisma.sql`total_tiyin`, vat: Prisma.sql`vat_total_tiyin`, cash, card })},
           ${sums('refund', { count: Prisma.sql`count(*)`, total: Prisma.sql`total_tiyin`, vat: Prisma.sql`vat_total_tiyin`, cash, card })}
      FROM receipts WHERE ${registered} GROUP BY 1 ORDER BY 1`;
}

/** By line: one receipt may hold goods of several rates. Counted are the receipts that hold any of the rate. */
function byVat(registered: Prisma.Sql): Prisma.Sql {
  const none = Prisma.sql`0`;
  const columns = {
    count: Prisma.sql`count(DISTINCT id)`,
    total: Prisma.sql`(line ->> 'totalTiyin')::bigint`,
    vat: Prisma.sql`(line ->> 'vatTiyin')::bigint`,
    ...{ cash: none, card: none },
  };
  return Prisma.sql`
    SELECT key, ${sums('sale', columns)}, ${sums('refund', columns)}
      FROM (SELECT id, type, line, line ->> 'vatPercent' AS key
              FROM receipts, jsonb_array_elements(document -> 'lines') AS line WHERE ${registered}) AS lines
     GROUP BY key ORDER BY key::int`;
}

type SumColumns = Readonly<Record<'count' | 'total' | 'vat' | 'cash' | 'card', Prisma.Sql>>;

/** As text: a sum of bigint is numeric. */
function sums(type: 'sale' | 'refund', columns: SumColumns): Prisma.Sql {
  const only = type === 'sale' ? Prisma.sql`FILTER (WHERE type = 'sale')` : Prisma.sql`FILTER (WHERE type = 'refund')`;
  const named = (name: string): Prisma.Sql => Prisma.raw(`"${type}_${name}"`);
  const sum = (name: 'total' | 'vat' | 'cash' | 'card'): Prisma.Sql =>
    Prisma.sql`coalesce(sum(${columns[name]}) ${only}, 0)::text AS ${named(name)}`;
  const count = Prisma.sql`(${columns.count} ${only})::text AS ${named('count')}`;
  return Prisma.join([count, sum('total'), sum('vat'), sum('cash'), sum('card')]);
}

function rowView(row: Row, isByLine: boolean): TurnoverRow {
  const sumsOf = (type: 'sale' | 'refund'): Sums => ({
    count: wholeNumber(row[`${type}_count`]),
    total: wholeNumber(row[`${type}_total`]),
    vat: wholeNumber(row[`${type}_vat`]),
    cash: isByLine ? null : wholeNumber(row[`${type}_cash`]),
    card: isByLine ? null : wholeNumber(row[`${type}_card`]),
  });
  const [sales, refunds] = [sumsOf('sale'), sumsOf('refund')];
  return { key: row.key, sales, refunds, net_total: sales.total - refunds.total, net_vat: sales.vat - refunds.vat };
}

function wholeNumber(text: string | undefined): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new Problem('total_too_large', 'The sums of this period are beyond 2^53 tiyin; ask for a shorter one.');
}
