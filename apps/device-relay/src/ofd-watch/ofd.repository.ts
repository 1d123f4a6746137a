import { Prisma, type PrismaService } from '#database';
import { OFD_ALARM_HOURS, OFD_FUSE_HOURS, OFD_WARNING_HOURS } from '#fiscal-domain';
import {
  alertOfDeadline,
  firstOfdDeadline,
  isAnyAlertDue,
  markSent,
  noteOfdErrors,
  OFD_BATCH,
  type OfdAlert,
  type SentBefore,
} from '#ledger';
import { databaseNow, type SqlNow } from '../database-now.js';
import { dueByMerchant, type DueShares } from '../shares/due-by-merchant.js';

export interface ResendClaim {
  deviceId: string;
  merchantId: string;
  /** Of the gateway's own receipts there; null = only others' documents are unsent. */
  oldestPendingAt: Date | null;
}

const ALERTS: readonly OfdAlert[] = [
  { stage: 1, event: 'ofd_deadline_warning', hoursLeft: OFD_FUSE_HOURS - OFD_WARNING_HOURS },
  { stage: 2, event: 'ofd_deadline_alarm', hoursLeft: OFD_FUSE_HOURS - OFD_ALARM_HOURS },
];

/** Receipts on their way to the OFD: `ofd_status`, alerts, and when their device is asked to send again. */
export class OfdRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow = databaseNow,
  ) {}

  /** What there is to do at this moment. */
  async whatIsDue(): Promise<{ alerts: boolean; resends: boolean }> {
    const [alerts, resends] = await Promise.all([
      this.prisma.ask<boolean>(isAnyAlertDue(ALERTS, this.now())),
      this.prisma.ask<boolean>(Prisma.sql`SELECT EXISTS (SELECT FROM devices d WHERE ${this.isResendDue()})`),
    ]);
    return { alerts, resends };
  }

  /** Devices with unsent receipts of ours that no resend is planned for: after a crash, or before their next poll. */
  async planResends(): Promise<number> {
    return this.prisma.$executeRaw`
      UPDATE devices d SET resend_due_at = ${this.now()}
        FROM owing_devices() o WHERE d.id = o.device_id AND d.resend_due_at IS NULL AND d.deleted_at IS NULL`;
  }

  /**
   * Takes devices whose resend is due; a relay that dies gives them back when the lease is over. By deadlines, whose index has them in order: by the
   * times of registration all receipts of a half-year were read for each device while another one had many unsent.
   */
  async claimDue(shares: DueShares, leaseMs: number): Promise<ResendClaim[]> {
    const rows = await this.prisma.$queryRaw<{ id: string; merchant_id: string; oldest: Date | null }[]>`
      UPDATE devices d SET resend_due_at = ${this.now()} + make_interval(secs => ${leaseMs / 1_000})
       WHERE d.id IN (${dueByMerchant(Prisma.sql`d.resend_due_at`, this.isResendDue(), shares)})
      RETURNING d.id, d.merchant_id,
                ${firstOfdDeadline(Prisma.sql`d.id`)} - make_interval(hours => ${OFD_FUSE_HOURS}::int) AS oldest`;
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
  async markSent(sent: SentBefore): Promise<number> {
    let marked = 0;
    for (;;) {
      const batch = await markSent(this.prisma, sent, this.now());
      marked += batch;
      if (batch < OFD_BATCH) return marked;
    }
  }

  async noteErrors(deviceId: string, terminalId: string, errors: ReadonlyMap<number, string>): Promise<void> {
    if (errors.size > 0) await noteOfdErrors(this.prisma, { deviceId, terminalId }, errors);
  }

  /**
   * Warning and alarm, once for each receipt, whether or not its device answers. @returns whether there may be more
   */
  async alert(): Promise<boolean> {
    let more = false;
    for (const alert of ALERTS) {
      if ((await alertOfDeadline(this.prisma, alert, this.now())) === OFD_BATCH) more = true;
    }
    return more;
  }

  private isResendDue(): Prisma.Sql {
    return Prisma.sql`d.deleted_at IS NULL AND d.resend_due_at IS NOT NULL AND d.resend_due_at <= ${this.now()}
                      AND d.state NOT IN ('disabled', 'replaced', 'unreachable', 'claimed_elsewhere')`;
  }
}
