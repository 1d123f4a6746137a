import { Injectable } from '@nestjs/common';
import { Prisma, ReportReads, type PrismaService } from '#database';
import { compareZReport, sumsOfZReport, type CurrentZReport, type ShiftSums } from '#fiscal-domain';
import { documentsOfShift } from '#ledger';
import { systemClock } from '#runtime';
import { readWhole } from '../missing-receipt.js';
import { snakeCased } from '../../http/snake-cased.js';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
import { inItsTurn, periodOf, spanOf, type Period, type ReconciliationQuery } from './report-queries.js';

/** One closed shift. Sums in tiyin; `difference` = register less gateway, only what differs. */
export interface ReconciliationView {
  id: string;
  device_id: string;
  terminal_id: string;
  number: number;
  opened_at: string;
  closed_at: string;
  /**
   * `foreign_sales`: the register shows more, and is one on which others sell too. `no_z_report`: the shift was found closed
   * when the next one was open already, and the register reports one only.
   */
  result: 'equal' | 'foreign_sales' | 'different' | 'no_z_report';
  z_report: unknown;
  gateway: unknown;
  difference: unknown;
  /** Receipts of the device that are not decided yet; they may explain a difference. */
  unknown_receipts: number;
}

interface Row extends Pick<ReconciliationView, 'device_id' | 'terminal_id' | 'number' | 'unknown_receipts'> {
  id: string;
  opened_at: Date;
  closed_at: Date;
  totals: CurrentZReport | null;
  is_shared: boolean;
  own: Record<keyof ShiftSums | 'lines', number>;
}

/** With `show=different` a page may have to read many shifts: so many at a time, and so often. */
const READ_AT_ONCE = 100;
const MAX_READS = 10;

/**
 * Each closed shift's Z-report against the gateway's own receipts, as they are now: what an operator has decided since the
 * relay compared them counts.
 */
@Injectable()
export class Reconciliation {
  constructor(private readonly reads: ReportReads) {}

  /** Newest first. @throws Problem 422, 410. With `show=different` a page may hold fewer than asked for, and more follow: the cursor shows it. */
  report(merchantId: string, query: ReconciliationQuery): Promise<Page<ReconciliationView>> {
    return this.reads.read((database) => new ShiftPages(database, merchantId, query).page());
  }
}

/** Registers close theirs within a day; one that was forgotten is found by then. */
const LONGEST_SHIFT_MS = 31 * 86_400_000;

/** The pages of one report, all read at one place. */
class ShiftPages {
  private readonly period: Period;

  constructor(
    private readonly database: PrismaService,
    private readonly merchantId: string,
    private readonly query: ReconciliationQuery,
  ) {
    this.period = periodOf(query, systemClock.now());
  }

  page(): Promise<Page<ReconciliationView>> {
    const { database, merchantId, period } = this;
    // A shift that was opened on the last day may have ended later.
    const sold = spanOf({ ...period, endMs: period.endMs + LONGEST_SHIFT_MS });
    return readWhole(database, { merchantId, spans: [sold] }, () => this.readPage());
  }

  private async readPage(): Promise<Page<ReconciliationView>> {
    const { query } = this;
    const { limit, afterId } = pageRequest(query, 'sht');
    if (query.show !== 'different') {
      const rows = await this.read({ afterId, limit: limit + 1 });
      return pageOf(rows.map(viewOf), limit, (view) => view);
    }
    const found: ReconciliationView[] = [];
    let after = afterId;
    for (let reads = 0; reads < MAX_READS && found.length <= limit; reads += 1) {
      const rows = await this.read({ afterId: after, limit: READ_AT_ONCE });
      found.push(...rows.map(viewOf).filter(({ result }) => result === 'different' || result === 'no_z_report'));
      after = rows.at(-1)?.id ?? null;
      if (rows.length < READ_AT_ONCE) return pageOf(found, limit, (view) => view);
    }
    if (found.length > limit) return pageOf(found, limit, (view) => view);
    return { data: found, next_cursor: after === null ? null : Buffer.from(after).toString('base64url') };
  }

  private read(page: { afterId: string | null; limit: number }): Promise<Row[]> {
    const { merchantId, query } = this;
    const { fromMs, endMs } = this.period;
    const device = query.device_id === undefined ? Prisma.sql`true` : Prisma.sql`d.id = ${query.device_id}`;
    return this.database.$queryRaw<Row[]>`
      WITH page AS MATERIALIZED (
        SELECT s.id, s.device_id, s.terminal_id, s.number, s.opened_at, s.closed_at, z.totals,
               coalesce(d.profile ->> 'sharing', 'shared') <> 'exclusive' AS is_shared
          FROM shifts s JOIN devices d ON d.id = s.device_id LEFT JOIN z_reports z ON z.shift_id = s.id
         WHERE ${inItsTurn(merchantId)} AND d.merchant_id = ${merchantId} AND ${device} AND s.closed_at IS NOT NULL
           AND s.opened_at >= ${new Date(fromMs)}::timestamptz AND s.opened_at < ${new Date(endMs)}::timestamptz
           AND (${page.afterId}::text IS NULL OR s.id < ${page.afterId})
         ORDER BY s.id DESC LIMIT ${page.limit}
      )
      SELECT p.*, own.sums AS own,
             (SELECT count(*)::int4 FROM receipts u
               WHERE u.merchant_id = ${merchantId} AND u.device_id = p.device_id AND u.status = 'unknown') AS unknown_receipts
        FROM page p CROSS JOIN LATERAL (
          SELECT jsonb_build_object(${ownSums()}) AS sums
            FROM (${documentsOfShift({ shift: Prisma.sql`p`, merchantId: Prisma.sql`${merchantId}` })}) AS made) AS own
       ORDER BY p.id DESC`;
  }
}

/** As the relay counts them when the shift is closed: advances and credits stand in no total. */
function ownSums(): Prisma.Sql {
  const sums = (['sale', 'refund'] as const).flatMap((type) => {
    const only =
      type === 'sale' ? Prisma.sql`FILTER (WHERE type = 'sale')` : Prisma.sql`FILTER (WHERE type = 'refund')`;
    const paid = (part: 'cash' | 'card'): Prisma.Sql =>
      part === 'cash'
        ? Prisma.sql`(document -> 'payment' ->> 'cashTiyin')::bigint`
        : Prisma.sql`(document -> 'payment' ->> 'cardTiyin')::bigint`;
    const name = (what: string): Prisma.Sql => Prisma.raw(`'${type}${what}'`);
    return [
      Prisma.sql`${name('Cash')}, coalesce(sum(${paid('cash')}) ${only}, 0)`,
      Prisma.sql`${name('Card')}, coalesce(sum(${paid('card')}) ${only}, 0)`,
      Prisma.sql`${name('Vat')}, coalesce(sum(vat_total_tiyin) ${only}, 0)`,
      Prisma.sql`${name('Count')}, count(*) ${only}`,
    ];
  });
  return Prisma.join([...sums, Prisma.sql`'lines', coalesce(sum(jsonb_array_length(document -> 'lines')), 0)`]);
}

function viewOf(row: Row): ReconciliationView {
  const { lines, ...counted } = row.own;
  const own = shiftSums(counted);
  const reported = row.totals === null ? null : sumsOfZReport(row.totals);
  const comparison =
    reported === null ? null : compareZReport(reported, own, { vatToleranceTiyin: lines, isShared: row.is_shared });
  return {
    id: row.id,
    device_id: row.device_id,
    terminal_id: row.terminal_id,
    number: row.number,
    opened_at: row.opened_at.toISOString(),
    closed_at: row.closed_at.toISOString(),
    result: comparison?.kind ?? 'no_z_report',
    z_report: snakeCased(reported),
    gateway: snakeCased(own),
    difference: comparison === null || comparison.kind === 'equal' ? null : snakeCased(comparison.difference),
    unknown_receipts: row.unknown_receipts,
  };
}

function shiftSums(counted: Omit<Row['own'], 'lines'>): ShiftSums {
  const { saleCash, saleCard, saleVat, saleCount, refundCash, refundCard, refundVat, refundCount } = counted;
  return { saleCash, saleCard, saleVat, saleCount, refundCash, refundCard, refundVat, refundCount };
}
