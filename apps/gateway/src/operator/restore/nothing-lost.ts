import { Injectable } from '@nestjs/common';
import { ANNOUNCED, Prisma, PrismaService, RESTORED, UNPROVEN_ATTEMPT } from '#database';
import { giveBackHeld, insertEvents } from '#ledger';
import { newId } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Evidence } from '../lock-device.js';
import type { Program } from './hold-lanes.js';

type Tx = Prisma.TransactionClient;

export interface GivenBack {
  merchant_id: string;
  devices: number;
  receipts: number;
  /** Were being sent to registers without keys, or to modules that were exchanged since, when the copy was made: what became of them only these know. */
  left_for_a_person: number;
}

const TRANSACTION_MS = 120_000;

/**
 * A person answers for it that the database lost nothing: a synchronous standby was promoted, `pg_upgrade` was run. What was
 * held goes back to where it was, without a comparison: registers without keys go on from the counters that are known.
 *
 * First of all nothing is from this copy any more; from one before it, it still is. What was accepted while a relay held (its row not committed yet), or comes out of a payment
 * later, would be held by its lane after what is given back here, and nothing would end that. A lane that holds reads the same row under
 * a lock (lane.repository.ts): it is done before this, and given back with the rest, or it finds nothing to hold. A death after the first
 * statement leaves the held as they are; the command is given again.
 */
@Injectable()
export class NothingLost {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  /** Null: no relay has compared the database since `restore begin`; it would hold anew. */
  async execute(program: Program, grounds: { reason: string; evidence: Evidence }): Promise<GivenBack[] | null> {
    // Said once of each change: where it is said again, what is left of the first time is done.
    await this.prisma.$executeRaw`
      UPDATE database_identity SET nothing_lost_at = changed_at, changed_at = changed_before, changed_before = NULL
       WHERE identity <> ${ANNOUNCED} AND changed_at IS NOT NULL AND (nothing_lost_at IS NULL OR changed_at > nothing_lost_at)`;
    if (await this.isAnnounced()) return null;
    const merchants = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT DISTINCT d.merchant_id AS id FROM restore_checks c JOIN devices d ON d.id = c.device_id ORDER BY 1`;
    const given: GivenBack[] = [];
    for (const { id } of merchants) given.push(await this.giveBack({ ...program, merchantId: id }, grounds));
    return given;
  }

  private async isAnnounced(): Promise<boolean> {
    const announced = await this.prisma.$queryRaw<unknown[]>`
      SELECT id FROM database_identity WHERE identity = ${ANNOUNCED}`;
    return announced.length > 0;
  }

  private giveBack(
    caller: Program & { merchantId: string },
    grounds: { reason: string; evidence: Evidence },
  ): Promise<GivenBack> {
    const { merchantId, actor } = caller;
    const resolution = { decision: 'nothing_lost', ...grounds, actor, at: new Date().toISOString() };
    return this.changes.execute(
      caller,
      async (tx) => {
        const receipts = await this.receiptsBack(tx, merchantId, resolution);
        const devices = await this.devicesOn(tx, merchantId, resolution);
        const [left] = await tx.$queryRaw<{ count: number }[]>`
          SELECT count(DISTINCT r.id)::int AS count FROM restore_checks c JOIN receipts r ON r.id = c.receipt_id
           WHERE r.merchant_id = ${merchantId} AND r.status = 'unknown'`;
        const result = { merchant_id: merchantId, devices, receipts, left_for_a_person: left?.count ?? 0 };
        return {
          result,
          action: 'restore.nothing_lost',
          targetId: merchantId,
          before: null,
          after: { ...result, ...grounds },
        };
      },
      { timeoutMs: TRANSACTION_MS },
    );
  }

  /**
   * What this restore holds; those of before have none of its own noted. Not those that were being sent to a register without keys: the copy is exact, and still does not say what became of them. Nor those
   * whose key went with a module that was exchanged since, be it of a sending before.
   */
  private async receiptsBack(tx: Tx, merchantId: string, resolution: Record<string, unknown>): Promise<number> {
    const attempts = await tx.$queryRaw<{ id: string }[]>`
      SELECT DISTINCT held.id
        FROM attempts held JOIN restore_checks c ON c.attempt_id = held.id JOIN receipts r ON r.id = held.receipt_id
       CROSS JOIN database_identity i
       CROSS JOIN LATERAL (
         SELECT length(held.request) = 0 AND NOT EXISTS (
                  SELECT FROM attempts a WHERE a.receipt_id = r.id AND a.id <> held.id AND ${UNPROVEN_ATTEMPT}) AS was_never_sent,
                held.baseline ->> 'journalId' IS NOT NULL OR length(held.request) = 0 AS has_key,
                EXISTS (SELECT FROM restore_checks own
                         WHERE own.attempt_id = held.id AND own.device_id = held.device_id AND own.verdict = 'unproven') AS was_exchanged
       ) it
       WHERE r.merchant_id = ${merchantId} AND r.status = 'unknown' AND held.state = 'unknown'
         AND (it.was_never_sent OR (it.has_key AND NOT it.was_exchanged))
         AND coalesce((held.outcome ->> 'restored_at')::timestamptz = i.nothing_lost_at, true)`;
    const ids = attempts.map(({ id }) => id);
    return giveBackHeld(tx, ids, resolution);
  }

  private async devicesOn(tx: Tx, merchantId: string, evidence: Record<string, unknown>): Promise<number> {
    const devices = await tx.$queryRaw<{ id: string }[]>`
      UPDATE devices SET state = 'online', state_reason = NULL, state_since = now()
       WHERE merchant_id = ${merchantId} AND state = 'replaced' AND state_reason = ${RESTORED} RETURNING id`;
    const ids = devices.map(({ id }) => id);
    await tx.$executeRaw(
      insertEvents(Prisma.sql`
        SELECT g.event_id, ${merchantId}, 'device.online', g.id,
               jsonb_build_object('device_id', g.id, 'reason', 'an operator: the database lost nothing')
          FROM unnest(${ids}::text[], ${ids.map(() => newId('evt'))}::text[]) AS g(id, event_id)`),
    );
    await tx.$executeRaw`
      UPDATE restore_checks c SET verdict = 'absent', evidence = ${JSON.stringify(evidence)}::jsonb
        FROM devices d WHERE d.id = c.device_id AND d.merchant_id = ${merchantId} AND c.verdict IS DISTINCT FROM 'present'
         AND NOT EXISTS (SELECT FROM receipts r WHERE r.id = c.receipt_id AND r.status = 'unknown')`;
    return devices.length;
  }
}
