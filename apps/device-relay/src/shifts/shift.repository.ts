import { Prisma, type PrismaService } from '#database';
import { compareZReport, sumsOfZReport, type CurrentZReport, type ShiftSums } from '#fiscal-domain';
import { documentsOfShift, insertEvents } from '#ledger';
import { newId } from '#runtime';
import { databaseNow, type SqlNow } from '../database-now.js';
import { dueByMerchant, type DueShares } from '../shares/due-by-merchant.js';

export interface CloseClaim {
  deviceId: string;
  merchantId: string;
  /** The shift that is due, as it was last read; null: it is not known. */
  shiftNumber: number | null;
}

/** A shift as the register reports it; its times have been read. */
export interface SeenShift {
  deviceId: string;
  report: CurrentZReport;
  openedMs: number;
  /** Null: it is open. */
  closedMs: number | null;
  /** Z-reports that the OFD has not acknowledged; null = not asked. */
  unsentNumbers: readonly number[] | null;
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

/** Z-reports that one statement marks; a register owes one a day. */
const MARKED_AT_ONCE = 100;

/** Earlier shifts that are found open at a time: one, unless a register was away for many. */
const OLDER_AT_ONCE = 20;

const NOT_COMPARED = Prisma.sql`z.own IS NULL`;

/** Rows of shifts and Z-reports. Whatever is reported twice, by two relays or after a crash, is written once. */
export class ShiftRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow = databaseNow,
  ) {}

  /**
   * Writes what is new about a shift, with its events. A shift whose closing was not seen is closed when a later one is
   * seen; its totals are gone then, the specification reports only the current shift.
   */
  async observe(seen: SeenShift): Promise<void> {
    const written = await this.write(seen);
    // Another relay has just inserted it, too late for our statement's view: it may have seen it open.
    if (written === 0 && seen.closedMs !== null) await this.write(seen);
  }

  /** @returns the number of events */
  private write({ deviceId, report, openedMs, closedMs, unsentNumbers }: SeenShift): Promise<number> {
    const { TerminalID: terminalId, Number: number } = report.Header;
    const openedAt = new Date(openedMs);
    const closedAt = closedMs === null ? null : new Date(closedMs);
    const isSent = unsentNumbers !== null && !unsentNumbers.includes(number);
    const ids = Array.from({ length: OLDER_AT_ONCE + 3 }, () => newId('evt'));
    const isOwn = ofMerchantOf(deviceId);
    return this.prisma.$executeRaw`
      WITH inserted AS (
        INSERT INTO shifts (id, device_id, terminal_id, number, opened_at, closed_at)
        VALUES (${newId('sht')}, ${deviceId}, ${terminalId}, ${number}, ${openedAt}, ${closedAt})
        ON CONFLICT (terminal_id, number, merchant_id) DO NOTHING RETURNING id, number
      ), older AS (
        UPDATE shifts SET closed_at = ${openedAt}
         WHERE closed_at IS NULL AND id IN (SELECT id FROM shifts WHERE terminal_id = ${terminalId} AND number < ${number}
                                               AND ${isOwn} AND closed_at IS NULL ORDER BY number LIMIT ${OLDER_AT_ONCE})
        RETURNING id, number
      ), ended AS (
        UPDATE shifts SET closed_at = ${closedAt}
         WHERE terminal_id = ${terminalId} AND number = ${number} AND ${isOwn} AND closed_at IS NULL AND ${closedAt}::timestamptz IS NOT NULL
        RETURNING id, number
      ), closed AS (
        SELECT id, number FROM ended
        UNION ALL SELECT id, number FROM inserted WHERE ${closedAt}::timestamptz IS NOT NULL
      ), kept AS (
        INSERT INTO z_reports (shift_id, totals, ofd_status, ofd_sent_at)
        SELECT id, ${JSON.stringify(report)}::jsonb, ${isSent ? 'sent' : 'pending'}::ofd_status,
               CASE WHEN ${isSent} THEN ${this.now()} END
          FROM closed
      ), news AS (
        SELECT 1 AS step, id, number, 'shift.opened' AS type, jsonb_build_object('opened_at', ${openedAt.toISOString()}::text) AS more
          FROM inserted
        UNION ALL SELECT 2, id, number, 'shift.closed', '{"z_report": null}' FROM older
        UNION ALL SELECT 3, id, number, 'shift.closed',
                         jsonb_build_object('closed_at', ${closedAt?.toISOString() ?? null}::text, 'z_report', ${JSON.stringify(report)}::jsonb)
                    FROM closed
        UNION ALL SELECT 4, id, number, ${isSent ? 'zreport.sent' : 'zreport.unsent'}, '{}' FROM closed
      )
      ${insertEvents(Prisma.sql`
      SELECT i.id, d.merchant_id, n.type, n.id,
             jsonb_build_object('shift_id', n.id, 'device_id', d.id, 'terminal_id', ${terminalId}::text, 'number', n.number) || n.more
        FROM (SELECT *, row_number() OVER (ORDER BY step, number) AS place FROM news) n
        JOIN unnest(${ids}::text[]) WITH ORDINALITY AS i(id, place) USING (place)
        JOIN devices d ON d.id = ${deviceId}
       ORDER BY place`)}`;
  }

  /** The OFD has every Z-report of this terminal but these, as the device's register says: of its own merchant. */
  async markZReportsSent(deviceId: string, terminalId: string, unsentNumbers: readonly number[]): Promise<void> {
    const ids = Array.from({ length: MARKED_AT_ONCE }, () => newId('evt'));
    await this.prisma.$executeRaw`
      WITH sent AS (
        SELECT z.shift_id FROM z_reports z JOIN shifts s ON s.id = z.shift_id
         WHERE z.ofd_status = 'pending' AND s.terminal_id = ${terminalId} AND s.${ofMerchantOf(deviceId)}
           AND s.number <> ALL(${[...unsentNumbers]}::int[])
         ORDER BY z.shift_id LIMIT ${MARKED_AT_ONCE} FOR NO KEY UPDATE OF z
      ), moved AS (
        UPDATE z_reports z SET ofd_status = 'sent', ofd_sent_at = ${this.now()} FROM sent
         WHERE z.shift_id = sent.shift_id AND z.ofd_status = 'pending' RETURNING z.shift_id
      )
      ${insertEvents(Prisma.sql`
      SELECT i.id, d.merchant_id, 'zreport.sent', s.id, jsonb_build_object('shift_id', s.id, 'number', s.number)
        FROM (SELECT shift_id, row_number() OVER (ORDER BY shift_id) AS place FROM moved) m
        JOIN unnest(${ids}::text[]) WITH ORDINALITY AS i(id, place) USING (place)
        JOIN shifts s ON s.id = m.shift_id JOIN devices d ON d.id = s.device_id`)}`;
  }

  /** Whether the device's merchant has registered anything on this terminal since: its newest receipt says so. */
  async hasOwnSince(deviceId: string, terminalId: string, openedMs: number): Promise<boolean> {
    const [newest] = await this.prisma.$queryRaw<{ is_since: boolean }[]>`
      SELECT r.registered_at >= ${new Date(openedMs)}::timestamptz AS is_since
        FROM registration_claims c JOIN receipts r ON r.id = c.receipt_id
       WHERE c.terminal_id = ${terminalId} AND c.${ofMerchantOf(deviceId)}
       ORDER BY c.receipt_seq DESC LIMIT 1`;
    return newest?.is_since ?? false;
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
           FROM (${documentsOfShift({ shift: Prisma.sql`s`, merchantId: Prisma.sql`s.merchant_id` })}) made) own
       WHERE ${NOT_COMPARED} AND s.closed_at IS NOT NULL
         AND lane_open_attempt(d.id) IS NULL
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
    const data = { shift_id: row.shift_id, number: row.number, device_id: row.device_id, difference, own };
    await this.prisma.$executeRaw`
      WITH compared AS (
        UPDATE z_reports SET own = ${JSON.stringify(own)}::jsonb,
                             difference = ${difference === null ? null : JSON.stringify(difference)}::jsonb
         WHERE shift_id = ${row.shift_id} AND own IS NULL RETURNING shift_id
      )
      ${insertEvents(Prisma.sql`
      SELECT ${newId('evt')}, ${row.merchant_id}, 'zreport.difference', shift_id, ${JSON.stringify(data)}::jsonb
        FROM compared WHERE ${comparison.kind === 'different'}`)}`;
  }

  /** What there is to do at this moment: shifts to be closed, Z-reports to be compared. */
  async whatIsDue(): Promise<{ closes: boolean; comparisons: boolean }> {
    const [closes, comparisons] = await Promise.all([
      this.prisma.ask<boolean>(Prisma.sql`SELECT EXISTS (SELECT FROM devices d WHERE ${this.isCloseDue()})`),
      this.prisma.ask<boolean>(Prisma.sql`SELECT EXISTS (SELECT FROM z_reports z WHERE ${NOT_COMPARED})`),
    ]);
    return { closes, comparisons };
  }

  /** Shifts whose time has come; taken for `leaseMs`, so that another relay tries only when this one is gone. */
  async claimDue(shares: DueShares, leaseMs: number): Promise<CloseClaim[]> {
    const rows = await this.prisma.$queryRaw<{ id: string; merchant_id: string; shift_number: number | null }[]>`
      UPDATE devices SET close_due_at = ${this.now()} + make_interval(secs => ${leaseMs / 1_000})
       WHERE id IN (${dueByMerchant(Prisma.sql`d.close_due_at`, this.isCloseDue(), shares)})
      RETURNING id, merchant_id, (reading -> 'shift' ->> 'number')::int AS shift_number`;
    return rows.map((row) => ({ deviceId: row.id, merchantId: row.merchant_id, shiftNumber: row.shift_number }));
  }

  private isCloseDue(): Prisma.Sql {
    return Prisma.sql`d.deleted_at IS NULL AND d.close_due_at IS NOT NULL AND d.close_due_at <= ${this.now()}
                      AND d.state IN ('online', 'degraded', 'blocked')`;
  }

  /** A poll has just called it due again: after a pause. */
  async postponeDue(deviceId: string, pauseMs: number): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE devices SET close_due_at = ${this.now()} + make_interval(secs => ${pauseMs / 1_000})
       WHERE id = ${deviceId} AND close_due_at <= ${this.now()}`;
  }
}

/** Of one terminal only the rows of the device's merchant: another one's register may have claimed to be this terminal. */
function ofMerchantOf(deviceId: string): Prisma.Sql {
  return Prisma.sql`merchant_id = (SELECT own.merchant_id FROM devices own WHERE own.id = ${deviceId})`;
}

function ownSums(row: UncomparedRow): ShiftSums {
  return {
    ...{ saleCash: Number(row.sale_cash), saleCard: Number(row.sale_card), saleVat: Number(row.sale_vat) },
    ...{ saleCount: Number(row.sale_count), refundCash: Number(row.refund_cash), refundCard: Number(row.refund_card) },
    ...{ refundVat: Number(row.refund_vat), refundCount: Number(row.refund_count) },
  };
}
