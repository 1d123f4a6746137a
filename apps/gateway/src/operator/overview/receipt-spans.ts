import { Injectable } from '@nestjs/common';
import { PrismaService, ReportReads, type Prisma } from '#database';
import { isFinalStatus } from '#ledger';
import type { CountAndTotal } from './overview-view.js';
import {
  addedUp,
  daySums,
  MAX_UNDER_WAY,
  sumsBetween,
  sumsOf,
  type DaySums,
  type GroupRow,
  type SumRow,
} from './receipt-sums.js';

/** A span of time whose receipts are all there: it is read once, and then only what was under way in it. */
export interface Span {
  /** Of receipts that are final: no move leads out of it. */
  final: DaySums;
  /** The others, as they were. */
  underWay: DaySums;
  /** The others; null: too many to ask for one by one. */
  ids: readonly string[] | null;
}

/** A day as it is kept; `vat` is missing where a gateway kept it that did not add it up yet. */
interface KeptDay {
  day: Date;
  sums: {
    rows: (Omit<GroupRow, 'vat'> & { vat?: string })[];
    branches: [string, CountAndTotal][];
    devices: [string, CountAndTotal][];
  };
  ids: string[];
}

export const NO_SUMS: DaySums = { rows: [], branches: new Map(), devices: new Map() };

/** Sums over receipts of one merchant, and those of days that are over as they are kept in `receipt_days`. */
@Injectable()
export class ReceiptSpans {
  constructor(
    private readonly prisma: PrismaService,
    private readonly reports: ReportReads,
  ) {}

  async between(merchantId: string, from: Date, to: Date): Promise<Span> {
    return this.read(sumsBetween(merchantId, from, to));
  }

  async of(merchantId: string, ids: readonly string[]): Promise<Span> {
    return ids.length === 0 ? { final: NO_SUMS, underWay: NO_SUMS, ids: [] } : this.read(sumsOf(merchantId, ids));
  }

  /** By the name of the day; one without its VAT is read anew. @param first the day of the oldest one */
  async keptSince(merchantId: string, first: string): Promise<Map<string, { final: DaySums; ids: readonly string[] }>> {
    const rows = await this.prisma.$queryRaw<KeptDay[]>`
      SELECT day, sums, under_way_ids AS ids FROM receipt_days WHERE merchant_id = ${merchantId} AND day >= ${first}::date`;
    return new Map(
      rows.flatMap(({ day, sums, ids }): [string, { final: DaySums; ids: readonly string[] }][] => {
        const groups = sums.rows.flatMap(({ vat, ...row }) => (vat === undefined ? [] : [{ ...row, vat }]));
        if (groups.length < sums.rows.length) return [];
        const final = { rows: groups, branches: new Map(sums.branches), devices: new Map(sums.devices) };
        return [[day.toISOString().slice(0, 10), { final, ids }]];
      }),
    );
  }

  /** Days before `first` are not asked for any more. */
  async keep(merchantId: string, { day, first }: { day: string; first: string }, span: Span): Promise<void> {
    if (span.ids === null) return;
    const { rows, branches, devices } = span.final;
    const sums = JSON.stringify({ rows, branches: [...branches], devices: [...devices] });
    await this.prisma.$executeRaw`
      WITH old AS (DELETE FROM receipt_days WHERE merchant_id = ${merchantId} AND day < ${first}::date)
      INSERT INTO receipt_days (merchant_id, day, sums, under_way_ids)
      VALUES (${merchantId}, ${day}::date, ${sums}::jsonb, ${[...span.ids]}::text[])
      ON CONFLICT (merchant_id, day) DO UPDATE SET sums = excluded.sums, under_way_ids = excluded.under_way_ids`;
  }

  private async read(statement: Prisma.Sql): Promise<Span> {
    const rows = await this.reports.read((database) => database.queryPlanned<SumRow>(statement));
    const ids = rows.flatMap((row) => row.ids ?? []);
    const sums = daySums(rows);
    const isFinal = ({ status }: GroupRow): boolean => status !== null && isFinalStatus(status);
    return {
      final: { ...sums, rows: sums.rows.filter(isFinal) },
      // Places have registered sales alone.
      underWay: { ...NO_SUMS, rows: sums.rows.filter((row) => !isFinal(row)) },
      ids: ids.length > MAX_UNDER_WAY ? null : ids,
    };
  }
}

/** One sum of many; of each day, status and type one row. */
export function joined(sums: readonly DaySums[]): DaySums {
  const rows = new Map<string, GroupRow>();
  for (const row of sums.flatMap((each) => each.rows)) {
    const key = `${row.day} ${row.status} ${row.type}`;
    const known = rows.get(key);
    const total = (BigInt(known?.total ?? 0) + BigInt(row.total)).toString();
    const vat = (BigInt(known?.vat ?? 0) + BigInt(row.vat)).toString();
    rows.set(key, { ...row, count: (known?.count ?? 0) + row.count, total, vat });
  }
  return {
    rows: [...rows.values()],
    branches: addedUp(sums.map(({ branches }) => branches)),
    devices: addedUp(sums.map(({ devices }) => devices)),
  };
}
