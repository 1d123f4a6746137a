import { Prisma, type PrismaService } from '#database';
import { OFD_ALARM_HOURS, OFD_FUSE_HOURS, OFD_WARNING_HOURS } from '#fiscal-domain';
import { newId } from '#runtime';
import { databaseNow, type SqlNow } from '../database-now.js';
import { dueByMerchant, type DueShares } from '../due-by-merchant.js';

/** Receipts that one statement marks, with their events. */
const BATCH = 500;

export interface ResendClaim {
  deviceId: string;
  merchantId: string;
  /** Of the gateway's own receipts there; null = only others' documents are unsent. */
  oldestPendingAt: Date | null;
}

/** Of one terminal, all that were recorded as registered before this moment of the database's clock. */
export interface SentBefore {
  deviceId: string;
  terminalId: string;
  before: Date;
  /** A module that lost documents says nothing about later ones. */
  upToSeq: number;
  /** Sequences that the register named as still unsent. */
  except: readonly number[];
}

const ALERTS = [
  { stage: 1, name: 'ofd_deadline_warning', hoursLeft: OFD_FUSE_HOURS - OFD_WARNING_HOURS },
  { stage: 2, name: 'ofd_deadline_alarm', hoursLeft: OFD_FUSE_HOURS - OFD_ALARM_HOURS },
] as const;

/** Receipts on their way to the OFD: `ofd_status`, alerts, and when their device is asked to send again. */
export class OfdRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow = databaseNow,
  ) {}

  /** Devices with unsent receipts of ours that no resend is planned for: after a crash, or before their next poll. */
  async planResends(): Promise<number> {
    return this.prisma.$executeRaw`
      UPDATE devices d SET resend_due_at = ${this.now()}
        FROM owing_devices() o WHERE d.id = o.device_id AND d.resend_due_at IS NULL AND d.deleted_at IS NULL`;
  }

  /** Takes devices whose resend is due; a relay that dies gives them back when the lease is over. */
  async claimDue(shares: DueShares, leaseMs: number): Promise<ResendClaim[]> {
    const isDue = Prisma.sql`d.deleted_at IS NULL AND d.resend_due_at IS NOT NULL AND d.resend_due_at <= ${this.now()}
                             AND d.state NOT IN ('disabled', 'replaced', 'unreachable', 'claimed_elsewhere')`;
    const rows = await this.prisma.$queryRaw<{ id: string; merchant_id: string; oldest: Date | null }[]>`
      UPDATE devices d SET resend_due_at = ${this.now()} + make_interval(secs => ${leaseMs / 1_000})
       WHERE d.id IN (${dueByMerchant(Prisma.sql`d.resend_due_at`, isDue, shares)})
      RETURNING d.id, d.merchant_id, (SELECT min(r.registered_at) FROM receipts r
                        WHERE r.device_id = d.id AND r.ofd_status = 'pending') AS oldest`;
    return rows.map((row) => ({ deviceId: row.id, merchantId: row.merchant_id, oldestPendingAt: row.oldest }));
  }

  /**
   * @param afterMs null: nothing is unsent
   * @param isPollDue the device's reading is behind: what blocked it or warned of it may be gone
   */
  async scheduleResend(deviceId: string, afterMs: number | null, isPollDue: boolean): Promise<void> {
    const due =
      afterMs === null ? Prisma.sql`NULL` : Prisma.sql`${this.now()} + make_interval(secs => ${afterMs / 1_000})`;
    await this.prisma.$executeRaw`
      UPDATE devices SET resend_due_at = ${due},
                         poll_due_at = CASE WHEN ${isPollDue} THEN ${this.now()} ELSE poll_due_at END
       WHERE id = ${deviceId}`;
  }

  async databaseTime(): Promise<Date> {
    const [row] = await this.prisma.$queryRaw<{ at: Date }[]>`SELECT ${this.now()}::timestamptz AS at`;
    if (!row) throw new Error('SELECT now() returned no row');
    return row.at;
  }

  /**
   * What was registered before the register was asked, and is not among what it still holds, has been sent. Receipts that
   * arrive later are younger than `before` and stay. @returns how many were marked
   */
  async markSent({ deviceId, terminalId, before, upToSeq, except }: SentBefore): Promise<number> {
    let marked = 0;
    for (;;) {
      const batch = await this.markBatch({ deviceId, terminalId, before, upToSeq, except });
      marked += batch;
      if (batch < BATCH) return marked;
    }
  }

  private async markBatch({ deviceId, terminalId, before, upToSeq, except }: SentBefore): Promise<number> {
    const ids = eventIds();
    return this.prisma.$executeRaw`
      WITH sent AS (
        SELECT id FROM receipts
         WHERE device_id = ${deviceId} AND ofd_status = 'pending' AND terminal_id = ${terminalId}
           AND updated_at < ${before} AND receipt_seq <= ${upToSeq} AND receipt_seq <> ALL(${[...except]}::bigint[])
         ORDER BY id LIMIT ${BATCH} FOR NO KEY UPDATE
      ), moved AS (
        UPDATE receipts r SET ofd_status = 'sent', ofd_sent_at = ${this.now()}, ofd_error = NULL
          FROM sent WHERE r.id = sent.id AND r.ofd_status::text = 'pending'
        RETURNING r.id, r.merchant_id, r.type, r.terminal_id, r.receipt_seq
      )
      ${receiptEvents('ofd_sent', ids)}`;
  }

  async noteErrors(deviceId: string, terminalId: string, errors: ReadonlyMap<number, string>): Promise<void> {
    if (errors.size === 0) return;
    await this.prisma.$executeRaw`
      UPDATE receipts r SET ofd_error = e.text
        FROM unnest(${[...errors.keys()]}::bigint[], ${[...errors.values()]}::text[]) AS e(seq, text)
       WHERE r.device_id = ${deviceId} AND r.terminal_id = ${terminalId} AND r.receipt_seq = e.seq
         AND r.ofd_status::text = 'pending' AND r.ofd_error IS DISTINCT FROM e.text`;
  }

  /**
   * Warning and alarm, once for each receipt, whether or not its device answers. @returns whether there may be more
   */
  async alert(): Promise<boolean> {
    let more = false;
    for (const { stage, name, hoursLeft } of ALERTS) {
      const ids = eventIds();
      const told = await this.prisma.$executeRaw`
        WITH due AS (
          SELECT id FROM receipts
           WHERE ofd_status = 'pending' AND ofd_alerts < 2 AND ofd_alerts = ${stage - 1}::smallint
             AND ofd_deadline_at <= ${this.now()} + make_interval(hours => ${hoursLeft}::int)
           ORDER BY ofd_deadline_at LIMIT ${BATCH} FOR NO KEY UPDATE SKIP LOCKED
        ), moved AS (
          UPDATE receipts r SET ofd_alerts = ${stage}::smallint FROM due
           WHERE r.id = due.id AND r.ofd_status::text = 'pending' AND r.ofd_alerts = ${stage - 1}::smallint
          RETURNING r.id, r.merchant_id, r.type, r.terminal_id, r.receipt_seq, r.ofd_deadline_at
        )
        ${receiptEvents(name, ids)}`;
      more ||= told === BATCH;
    }
    return more;
  }
}

/** One id for each row that a batch may move; ids are made here, not in SQL. */
function eventIds(): string[] {
  return Array.from({ length: BATCH }, () => newId('evt'));
}

function receiptEvents(name: string, ids: string[]): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    SELECT i.id, m.merchant_id, CASE m.type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.' || ${name}, m.id,
           jsonb_build_object('receipt_id', m.id, 'terminal_id', m.terminal_id, 'receipt_seq', m.receipt_seq)
      FROM (SELECT *, row_number() OVER (ORDER BY id) AS place FROM moved) m
      JOIN unnest(${ids}::text[]) WITH ORDINALITY AS i(id, place) USING (place)`;
}
