import type { PrismaService } from '#database';
import { Prisma, RESTORED } from '#database';
import { deviceEvents, lockRestore, noteCounters, releaseCompared } from '#ledger';
import { inTurn, type DueShares } from '../shares/due-by-merchant.js';

export interface ClaimedCheck {
  id: bigint;
  deviceId: string;
  merchantId: string;
  /** Null: of the register as a whole. */
  receiptId: string | null;
  /** Since its first answer after the last silence; null = it has not answered, or was silent for too long. */
  answeredAgoMs: number | null;
}

/** Longer without an answer, and a request may have slept there unnoticed. */
const LONGEST_GAP_SECONDS = 30;
const RELEASED_AT_ONCE = 500;
/** Of one register at a time: the others have their turn between. */
const CHECKS_OF_A_REGISTER = 100;

/** The rows of the comparison after a restore. Due times are on the database's clock. */
export class RestoreChecksRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Takes checks that are due, of so many registers as there are places, merchants in turn; a relay that dies gives them back when the
   * lease is over.
   *
   * @param running registers that are being compared here
   */
  async claimDue(leaseMs: number, shares: DueShares, running: readonly string[] = []): Promise<ClaimedCheck[]> {
    const isDue = Prisma.sql`c.verdict IS NULL AND c.due_at <= now() AND (c.method = 'key' OR c.attempt_id IS NULL)`;
    const isAnyOpen = await this.prisma.ask<boolean>(
      Prisma.sql`SELECT EXISTS (SELECT FROM restore_checks WHERE verdict IS NULL)`,
    );
    if (!isAnyOpen) return [];
    const devices = Prisma.sql`
      SELECT d.id, d.merchant_id, min(c.due_at) AS due_at
        FROM restore_checks c JOIN devices d ON d.id = c.device_id
       WHERE ${isDue} AND d.id <> ALL(${[...running]}::text[]) GROUP BY d.id`;
    return this.prisma.$queryRaw<ClaimedCheck[]>`
      UPDATE restore_checks SET due_at = now() + make_interval(secs => ${leaseMs / 1_000})
        FROM devices
       WHERE devices.id = restore_checks.device_id
         AND restore_checks.id IN (
           SELECT c.id FROM restore_checks c
            WHERE c.id IN (SELECT id FROM (
                    SELECT c.id, row_number() OVER (PARTITION BY c.device_id ORDER BY c.due_at) AS place
                      FROM restore_checks c WHERE ${isDue} AND c.device_id IN (${inTurn(devices, shares)})
                  ) placed WHERE place <= ${CHECKS_OF_A_REGISTER})
              AND ${isDue} FOR UPDATE OF c SKIP LOCKED)
      RETURNING restore_checks.id, device_id AS "deviceId", devices.merchant_id AS "merchantId", receipt_id AS "receiptId",
                CASE WHEN seen_at > now() - make_interval(secs => ${LONGEST_GAP_SECONDS})
                     THEN extract(epoch FROM now() - answered_at)::float8 * 1000 END AS "answeredAgoMs"`;
  }

  /** The register has answered: the settle time goes on, or begins where it was silent. */
  async noteAnswer(ids: readonly bigint[], againAfterMs: number): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE restore_checks
         SET answered_at = CASE WHEN seen_at > now() - make_interval(secs => ${LONGEST_GAP_SECONDS})
                                THEN answered_at ELSE now() END,
             seen_at = now(), due_at = now() + make_interval(secs => ${againAfterMs / 1_000})
       WHERE id = ANY(${[...ids]}::bigint[]) AND verdict IS NULL`;
  }

  /** Silent: what may be asleep there begins anew. */
  async noteSilence(ids: readonly bigint[], againAfterMs: number): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE restore_checks SET answered_at = NULL, seen_at = NULL, due_at = now() + make_interval(secs => ${againAfterMs / 1_000})
       WHERE id = ANY(${[...ids]}::bigint[]) AND verdict IS NULL`;
  }

  /** But for what is proven: not where a person has adopted another module meanwhile, which was the one that answered. */
  async decide(
    ids: readonly bigint[],
    verdict: 'absent' | 'present' | 'unproven',
    evidence: Record<string, unknown>,
  ): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE restore_checks SET verdict = ${verdict}, evidence = ${JSON.stringify(evidence)}::jsonb, seen_at = now()
       WHERE id = ANY(${[...ids]}::bigint[]) AND (verdict IS NULL OR ${verdict} = 'present')`;
  }

  /** What was found of a register's counters counts for every receipt that it may have. */
  async decideByCounters(
    deviceId: string,
    verdict: 'absent' | 'unproven',
    evidence: Record<string, unknown>,
  ): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      // A lane that holds a receipt at this moment (lane.repository.ts) has noted by then that it waits for this, or finds it decided.
      await lockRestore(tx);
      // Before its checks, as in an adoption.
      await tx.$queryRaw`SELECT id FROM devices WHERE id = ${deviceId} FOR NO KEY UPDATE`;
      await tx.$executeRaw`
        UPDATE restore_checks SET verdict = ${verdict}, evidence = ${JSON.stringify(evidence)}::jsonb, seen_at = now()
         WHERE device_id = ${deviceId} AND method = 'counters' AND verdict IS NULL`;
      if (verdict === 'absent') await this.goOn(tx, deviceId);
      else await noteCounters(tx, deviceId, evidence);
    });
  }

  /** Receipts that no register has go back into their lanes. @returns whose lanes have got some */
  async release(deviceId: string): Promise<string[]> {
    const lanes = new Set<string>();
    for (;;) {
      const attempts = await this.prisma.$queryRaw<{ id: string }[]>`
        SELECT a.id FROM attempts a JOIN receipts r ON r.id = a.receipt_id
         WHERE a.id IN (SELECT attempt_id FROM restore_checks WHERE device_id = ${deviceId} AND verdict = 'absent')
           AND a.state = 'unknown' AND r.status = 'unknown'
           AND NOT EXISTS (SELECT FROM restore_checks c WHERE c.attempt_id = a.id AND c.verdict IS DISTINCT FROM 'absent')
         LIMIT ${RELEASED_AT_ONCE}`;
      if (attempts.length === 0) return [...lanes];
      const ids = attempts.map(({ id }) => id);
      for (const lane of await releaseCompared(this.prisma, ids)) lanes.add(lane);
    }
  }

  private async goOn(tx: Prisma.TransactionClient, deviceId: string): Promise<void> {
    await tx.$executeRaw`
      WITH moved AS (
        UPDATE devices SET state = 'online', state_reason = NULL, state_since = now()
         WHERE id = ${deviceId} AND state = 'replaced' AND state_reason = ${RESTORED}
        RETURNING id, merchant_id
      )
      ${deviceEvents('online', 'its counters stand where the copy left them')}`;
  }
}
