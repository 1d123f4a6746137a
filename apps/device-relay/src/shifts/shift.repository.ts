import type { Prisma } from '#database';
import { type PrismaService } from '#database';
import { compareZReport, sumsOfZReport, type CurrentZReport, type ShiftSums } from '#fiscal-domain';
import { newId } from '#runtime';
import { databaseNow, type SqlNow } from '../database-now.js';

/** A shift as the register tells of it; its times have been read. */
export interface SeenShift {
  deviceId: string;
  report: CurrentZReport;
  openedMs: number;
  /** Null: it is open. */
  closedMs: number | null;
  /** Z-reports that the OFD has not acknowledged; null = not asked. */
  unsentNumbers: readonly number[] | null;
}

interface MovedShift {
  id: string;
  merchant_id: string;
  number: number;
}

interface UncomparedRow {
  shift_id: string;
  merchant_id: string;
  device_id: string;
  number: number;
  totals: CurrentZReport;
  is_shared: boolean;
  sale_cash: bigint;
  sale_card: bigint;
  sale_vat: bigint;
  sale_count: bigint;
  refund_cash: bigint;
  refund_card: bigint;
  refund_vat: bigint;
  refund_count: bigint;
  lines: bigint;
  unknown: bigint;
}

type Tx = Prisma.TransactionClient;

/** Rows of shifts and Z-reports. Whatever is told twice, by two relays or after a crash, is written once. */
export class ShiftRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow = databaseNow,
  ) {}

  /**
   * Writes what is new about a shift, with its events. A shift whose closing nobody saw is closed when a later one is
   * seen; its totals are gone then, the specification tells only of the current shift.
   */
  async observe(seen: SeenShift): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await this.open(tx, seen);
      await this.closeOlder(tx, seen);
      if (seen.closedMs !== null) await this.close(tx, seen, new Date(seen.closedMs));
    });
  }

  private async open(tx: Tx, { deviceId, report, openedMs }: SeenShift): Promise<void> {
    const { TerminalID: terminalId, Number: number } = report.Header;
    await tx.$executeRaw`
      WITH opened AS (
        INSERT INTO shifts (id, device_id, terminal_id, number, opened_at)
        VALUES (${newId('sht')}, ${deviceId}, ${terminalId}, ${number}, ${new Date(openedMs)})
        ON CONFLICT (terminal_id, number) DO NOTHING RETURNING id, device_id
      )
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, d.merchant_id, 'shift.opened', o.id,
             jsonb_build_object('shift_id', o.id, 'device_id', d.id, 'terminal_id', ${terminalId}::text, 'number', ${number}::int,
                                'opened_at', ${new Date(openedMs).toISOString()}::text)
        FROM opened o JOIN devices d ON d.id = o.device_id`;
  }

  private async closeOlder(tx: Tx, { report, openedMs }: SeenShift): Promise<void> {
    const closed = await tx.$queryRaw<MovedShift[]>`
      UPDATE shifts s SET closed_at = ${new Date(openedMs)} FROM devices d
       WHERE d.id = s.device_id AND s.terminal_id = ${report.Header.TerminalID} AND s.number < ${report.Header.Number}
         AND s.closed_at IS NULL
      RETURNING s.id, d.merchant_id, s.number`;
    for (const shift of closed) await this.tell(tx, shift, 'shift.closed', { z_report: null });
  }

  private async close(tx: Tx, { report, unsentNumbers }: SeenShift, closedAt: Date): Promise<void> {
    const { TerminalID: terminalId, Number: number } = report.Header;
    const [shift] = await tx.$queryRaw<MovedShift[]>`
      UPDATE shifts s SET closed_at = ${closedAt} FROM devices d
       WHERE d.id = s.device_id AND s.terminal_id = ${terminalId} AND s.number = ${number} AND s.closed_at IS NULL
      RETURNING s.id, d.merchant_id, s.number`;
    if (!shift) return;
    const isSent = unsentNumbers !== null && !unsentNumbers.includes(number);
    await tx.$executeRaw`
      INSERT INTO z_reports (shift_id, totals, ofd_status, ofd_sent_at)
      VALUES (${shift.id}, ${JSON.stringify(report)}::jsonb, ${isSent ? 'sent' : 'pending'}::ofd_status,
              CASE WHEN ${isSent} THEN ${this.now()} END)`;
    await this.tell(tx, shift, 'shift.closed', { closed_at: closedAt.toISOString(), z_report: report });
    await this.tell(tx, shift, isSent ? 'zreport.sent' : 'zreport.unsent', {});
  }

  /** The OFD has every Z-report of this terminal but these. */
  async markZReportsSent(terminalId: string, unsentNumbers: readonly number[]): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      const sent = await tx.$queryRaw<MovedShift[]>`
        UPDATE z_reports z SET ofd_status = 'sent', ofd_sent_at = ${this.now()}
          FROM shifts s JOIN devices d ON d.id = s.device_id
         WHERE s.id = z.shift_id AND z.ofd_status = 'pending' AND s.terminal_id = ${terminalId}
           AND s.number <> ALL(${[...unsentNumbers]}::int[])
        RETURNING s.id, d.merchant_id, s.number`;
      for (const shift of sent) await this.tell(tx, shift, 'zreport.sent', {});
    });
  }

  /** The register holds this shift open, and has nothing in it that we registered either. */
  async countOwnDocuments(terminalId: string, openedMs: number): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ n: number }[]>`
      SELECT count(*)::int AS n FROM (SELECT FROM receipts WHERE terminal_id = ${terminalId} AND receipt_seq IS NOT NULL
         AND registered_at >= ${new Date(openedMs)} LIMIT 1) own`;
    return row?.n ?? 0;
  }

  /**
   * Compares Z-reports with the gateway's own receipts, once each, oldest first. A device with an open attempt is left for
   * later: that receipt may be in the shift. @returns how many were compared
   */
  async compareWaiting(limit: number): Promise<number> {
    const rows = await this.prisma.$queryRaw<UncomparedRow[]>`
      SELECT z.shift_id, d.merchant_id, d.id AS device_id, s.number, z.totals,
             coalesce(d.profile ->> 'sharing', 'shared') <> 'exclusive' AS is_shared, own.*,
             (SELECT count(*) FROM attempts a JOIN receipts u ON u.id = a.receipt_id
               WHERE a.device_id = d.id AND a.state = 'unknown' AND u.status = 'unknown') AS unknown
        FROM z_reports z JOIN shifts s ON s.id = z.shift_id JOIN devices d ON d.id = s.device_id
       CROSS JOIN LATERAL (
         SELECT coalesce(sum((document -> 'payment' ->> 'cashTiyin')::bigint) FILTER (WHERE type = 'sale'), 0)::bigint AS sale_cash,
                coalesce(sum((document -> 'payment' ->> 'cardTiyin')::bigint) FILTER (WHERE type = 'sale'), 0)::bigint AS sale_card,
                coalesce(sum(vat_total_tiyin) FILTER (WHERE type = 'sale'), 0)::bigint AS sale_vat,
                count(*) FILTER (WHERE type = 'sale') AS sale_count,
                coalesce(sum((document -> 'payment' ->> 'cashTiyin')::bigint) FILTER (WHERE type = 'refund'), 0)::bigint AS refund_cash,
                coalesce(sum((document -> 'payment' ->> 'cardTiyin')::bigint) FILTER (WHERE type = 'refund'), 0)::bigint AS refund_card,
                coalesce(sum(vat_total_tiyin) FILTER (WHERE type = 'refund'), 0)::bigint AS refund_vat,
                count(*) FILTER (WHERE type = 'refund') AS refund_count,
                coalesce(sum(jsonb_array_length(document -> 'lines')), 0)::bigint AS lines
           FROM receipts r
          WHERE r.terminal_id = s.terminal_id AND r.receipt_seq IS NOT NULL
            AND r.registered_at >= s.opened_at AND r.registered_at < s.closed_at + interval '1 second') own
       WHERE z.own IS NULL AND s.closed_at IS NOT NULL
         AND NOT EXISTS (SELECT FROM attempts a WHERE a.device_id = d.id AND a.state = 'open')
       ORDER BY z.created_at LIMIT ${limit}`;
    for (const row of rows) await this.writeComparison(row);
    return rows.length;
  }

  private async writeComparison(row: UncomparedRow): Promise<void> {
    const own = ownSums(row);
    const options = { vatToleranceTiyin: Number(row.lines), isShared: row.is_shared };
    const comparison = compareZReport(sumsOfZReport(row.totals), own, options);
    const difference =
      comparison.kind === 'equal'
        ? null
        : { kind: comparison.kind, sums: comparison.difference, unknownReceipts: Number(row.unknown) };
    await this.prisma.$transaction(async (tx) => {
      const written = await tx.$executeRaw`
        UPDATE z_reports SET own = ${JSON.stringify(own)}::jsonb,
                             difference = ${difference === null ? null : JSON.stringify(difference)}::jsonb
         WHERE shift_id = ${row.shift_id} AND own IS NULL`;
      if (written === 0 || comparison.kind !== 'different') return;
      const shift = { id: row.shift_id, merchant_id: row.merchant_id, number: row.number };
      await this.tell(tx, shift, 'zreport.difference', { device_id: row.device_id, difference, own });
    });
  }

  private async tell(tx: Tx, shift: MovedShift, type: string, more: Record<string, unknown>): Promise<void> {
    const data = { shift_id: shift.id, number: shift.number, ...more };
    await tx.$executeRaw`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      VALUES (${newId('evt')}, ${shift.merchant_id}, ${type}, ${shift.id}, ${JSON.stringify(data)}::jsonb)`;
  }

  /** Shifts whose time has come; taken for `leaseMs`, so that another relay tries only when this one is gone. */
  async claimDue(limit: number, leaseMs: number): Promise<string[]> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      UPDATE devices SET close_due_at = ${this.now()} + make_interval(secs => ${leaseMs / 1_000})
       WHERE id IN (SELECT id FROM devices
                     WHERE deleted_at IS NULL AND close_due_at IS NOT NULL AND close_due_at <= ${this.now()}
                       AND state IN ('online', 'degraded', 'blocked')
                     ORDER BY close_due_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED)
      RETURNING id`;
    return rows.map(({ id }) => id);
  }

  /** The poll that follows reads the shift anew and sets the next due time. */
  async scheduleClose(deviceId: string, dueMs: number | null): Promise<void> {
    const due = dueMs === null ? null : new Date(dueMs);
    await this.prisma.$executeRaw`UPDATE devices SET close_due_at = ${due} WHERE id = ${deviceId}`;
  }
}

function ownSums(row: UncomparedRow): ShiftSums {
  return {
    ...{ saleCash: Number(row.sale_cash), saleCard: Number(row.sale_card), saleVat: Number(row.sale_vat) },
    ...{ saleCount: Number(row.sale_count), refundCash: Number(row.refund_cash), refundCard: Number(row.refund_card) },
    ...{ refundVat: Number(row.refund_vat), refundCount: Number(row.refund_count) },
  };
}
