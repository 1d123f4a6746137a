import { Injectable } from '@nestjs/common';
import { ANNOUNCED, isNotAllowed, LANE_LOCK_SESSIONS, PrismaService, RESTORED, type Prisma } from '#database';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';

export type Program = Omit<Caller, 'merchantId'>;

export interface RestoreStatus {
  /** Since when a person holds all lanes; null = they go. */
  lanes_held_since: string | null;
  lanes_held_by: string | null;
  /** When the database was last found, or announced, to be another one than before; of these the last by which something may be lost, as far as a person has said. */
  restored_at: string | null;
  /** False: no relay has compared the identity of this database since `restore begin`; the first that does holds what has to be held. */
  is_compared: boolean;
  /** Registers without keys that stand still since the restore. */
  devices_stopped: number;
  /** Receipts that are held and undecided. */
  receipts_held: number;
  /** Of these, how many no comparison can decide any more: a person has to. */
  receipts_for_a_person: number;
  /** Registers that have not answered yet, with how many held receipts wait for each. */
  waiting_for: { device_id: string; state: string; receipts: number }[];
}

/**
 * A person who puts a copy back holds all lanes until everything is compared: relays take no lane lock and write no intent, so
 * that nothing goes to any register. The comparison of registers, which only reads, goes on.
 */
@Injectable()
export class HoldLanes {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  /** Also where no change of the database's identity shows: a snapshot of the disk that was put back. */
  async begin(program: Program, reason: string): Promise<{ relays: number | 'restart_them' }> {
    const by = `${program.actor}: ${reason}`;
    await this.prisma.$executeRaw`
      INSERT INTO database_identity (identity, changed_at, lanes_held_at, lanes_held_by) VALUES (${ANNOUNCED}, now(), now(), ${by})
      ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, changed_at = excluded.changed_at,
                                     changed_before = CASE WHEN database_identity.identity = ${ANNOUNCED}
                                       THEN database_identity.changed_before ELSE database_identity.changed_at END,
                                     lanes_held_at = coalesce(database_identity.lanes_held_at, now()),
                                     lanes_held_by = excluded.lanes_held_by`;
    await this.record(program, 'lanes.hold', reason);
    return { relays: await this.endLockSessions() };
  }

  /** Each relay begins a session anew, and compares the database's identity before it takes a lane. */
  private async endLockSessions(): Promise<number | 'restart_them'> {
    try {
      const ended = await this.prisma.$queryRaw<{ ended: boolean }[]>`
        SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = ${LANE_LOCK_SESSIONS}`;
      return ended.length;
    } catch (error) {
      // The relays use another role than this command: they take no lane, and compare the database's identity at their next start.
      if (isNotAllowed(error)) return 'restart_them';
      throw error;
    }
  }

  /** @returns whether they were held */
  async end(program: Program, reason: string): Promise<boolean> {
    const released = await this.prisma.$executeRaw`
      UPDATE database_identity SET lanes_held_at = NULL, lanes_held_by = NULL WHERE lanes_held_at IS NOT NULL`;
    if (released === 1) await this.record(program, 'lanes.release', reason);
    return released === 1;
  }

  async status(): Promise<RestoreStatus> {
    const [identity] = await this.prisma.$queryRaw<IdentityRow[]>`
      SELECT identity, lanes_held_at, lanes_held_by, changed_at FROM database_identity`;
    const [counts] = await this.prisma.$queryRaw<{ devices: number; held: number; person: number }[]>`
      SELECT (SELECT count(*)::int FROM devices WHERE state = 'replaced' AND state_reason = ${RESTORED}) AS devices,
             count(*)::int AS held, count(*) FILTER (WHERE is_unproven)::int AS person
        FROM (SELECT bool_or(c.verdict = 'unproven') IS TRUE AS is_unproven
                FROM restore_checks c JOIN receipts r ON r.id = c.receipt_id
               WHERE r.status = 'unknown' GROUP BY c.receipt_id) held`;
    const waitingFor = await this.prisma.$queryRaw<RestoreStatus['waiting_for']>`
      SELECT c.device_id, d.state::text AS state, count(*)::int AS receipts
        FROM restore_checks c JOIN receipts r ON r.id = c.receipt_id JOIN devices d ON d.id = c.device_id
       WHERE r.status = 'unknown' AND c.verdict IS NULL GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT 1000`;
    return {
      lanes_held_since: identity?.lanes_held_at?.toISOString() ?? null,
      lanes_held_by: identity?.lanes_held_by ?? null,
      restored_at: identity?.changed_at?.toISOString() ?? null,
      is_compared: identity !== undefined && identity.identity !== ANNOUNCED,
      devices_stopped: counts?.devices ?? 0,
      receipts_held: counts?.held ?? 0,
      receipts_for_a_person: counts?.person ?? 0,
      waiting_for: waitingFor,
    };
  }

  /** On the trail of every merchant that has registers. */
  private async record(program: Program, action: string, reason: string): Promise<void> {
    const merchants = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM merchants m WHERE EXISTS (SELECT FROM devices d WHERE d.merchant_id = m.id AND d.deleted_at IS NULL)`;
    for (const { id: merchantId } of merchants) {
      await this.changes.execute({ ...program, merchantId }, (_tx: Prisma.TransactionClient) =>
        Promise.resolve({ result: null, action, targetId: merchantId, before: null, after: { reason } }),
      );
    }
  }
}

interface IdentityRow {
  identity: string;
  lanes_held_at: Date | null;
  lanes_held_by: string | null;
  changed_at: Date | null;
}
