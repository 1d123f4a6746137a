import { Injectable } from '@nestjs/common';
import { FROM_COPY, HELD_BY_RESTORE, UNPROVEN_ATTEMPT, type Prisma } from '#database';
import {
  OFD_FUSE_HOURS,
  type Baseline,
  type Calibration,
  type CounterReading,
  type ReceiptStatus,
  type ReceiptType,
} from '#fiscal-domain';
import { newId } from '#runtime';
import type { CheckedRegistration } from './check-registration.js';
import { readingIn } from './attempt-outcome.js';

type Tx = Prisma.TransactionClient;

export type AttemptStateName = 'open' | 'registered' | 'rejected' | 'not_registered' | 'unknown';

/** An attempt with what a decision about it needs, its row and its receipt's row locked. */
export interface LockedAttempt {
  id: string;
  merchantId: string;
  receiptId: string;
  deviceId: string;
  state: AttemptStateName;
  createdAt: Date;
  baseline: Baseline;
  reading: CounterReading | null;
  outcome: Record<string, unknown> | null;
  /** The lane has not yet waited out a request that may be asleep. */
  mustSettle: boolean;
  receiptStatus: ReceiptStatus;
  receiptType: ReceiptType;
  deviceTerminalId: string | null;
  /** Of other registers that may have it after a restore, by device. */
  otherTerminals: ReadonlyMap<string, string>;
  calibration: Calibration | null;
}

interface AttemptRow {
  id: string;
  receipt_id: string;
  device_id: string;
  state: AttemptStateName;
  created_at: Date;
  baseline: Baseline;
  outcome: Record<string, unknown> | null;
}

interface DeviceRow {
  terminal_id: string | null;
  calibration: Calibration | null;
  must_settle: boolean | null;
}

/** A register that is not calibrated may report the sequence of the document before. */
const UNKNOWN_OFFSET = 1;

/**
 * The rows behind an operator's decisions. Every move is conditional on the state that it leaves. Locks begin with the
 * attempt, as in the relay's statements: whoever has it has the right to its lane and receipt, and nobody deadlocks.
 */
@Injectable()
export class OperatorRepository {
  /** Null: no such attempt of this merchant. */
  async lockAttempt(tx: Tx, merchantId: string, attemptId: string): Promise<LockedAttempt | null> {
    const [attempt] = await tx.$queryRaw<AttemptRow[]>`
      SELECT a.id, a.receipt_id, a.device_id, a.state, a.created_at, a.baseline, a.outcome
        FROM attempts a
       WHERE a.id = ${attemptId}
         AND EXISTS (SELECT FROM receipts r WHERE r.id = a.receipt_id AND r.merchant_id = ${merchantId})
         FOR UPDATE OF a`;
    if (!attempt) return null;
    // In a statement of its own: it must see what the one who held the attempt has done to the receipt.
    const [receipt] = await tx.$queryRaw<{ status: ReceiptStatus; type: ReceiptType }[]>`
      SELECT status, type FROM receipts WHERE id = ${attempt.receipt_id} FOR UPDATE`;
    const [device] = await tx.$queryRaw<DeviceRow[]>`
      SELECT d.terminal_id, l.calibration, l.must_settle FROM devices d LEFT JOIN lanes l ON l.device_id = d.id
       WHERE d.id = ${attempt.device_id}`;
    if (!receipt) return null;
    const others = await tx.$queryRaw<{ id: string; terminal_id: string }[]>`
      SELECT d.id, d.terminal_id FROM restore_checks c JOIN devices d ON d.id = c.device_id
       WHERE c.attempt_id = ${attemptId} AND d.id <> ${attempt.device_id} AND d.terminal_id IS NOT NULL`;
    return {
      id: attempt.id,
      merchantId,
      receiptId: attempt.receipt_id,
      deviceId: attempt.device_id,
      state: attempt.state,
      createdAt: attempt.created_at,
      baseline: attempt.baseline,
      reading: readingIn(attempt.outcome),
      outcome: attempt.outcome,
      mustSettle: device?.must_settle ?? false,
      receiptStatus: receipt.status,
      receiptType: receipt.type,
      deviceTerminalId: device?.terminal_id ?? null,
      otherTerminals: new Map(others.map(({ id, terminal_id: terminalId }) => [terminalId, id])),
      calibration: device?.calibration ?? null,
    };
  }

  /** Closes an attempt that was parked; what was found out about it stays beside the decision. */
  async closeParked(
    tx: Tx,
    attemptId: string,
    { state, resolution }: { state: 'registered' | 'not_registered'; resolution: Record<string, unknown> },
  ): Promise<boolean> {
    const closed = await tx.$executeRaw`
      UPDATE attempts
         SET state = ${state}::attempt_state,
             outcome = coalesce(outcome, '{}'::jsonb) || jsonb_build_object('resolution', ${JSON.stringify(resolution)}::jsonb)
       WHERE id = ${attemptId} AND state::text = 'unknown'`;
    return closed === 1;
  }

  /** An open attempt becomes one that a person decides; its register may still be at work on it. */
  async parkOpen(
    tx: Tx,
    attempt: LockedAttempt,
    { evidence, mustSettle }: { evidence: Record<string, unknown>; mustSettle: boolean },
  ): Promise<boolean> {
    const parked = await tx.$executeRaw`
      UPDATE attempts SET state = 'unknown', closed_at = now(),
                          outcome = coalesce(outcome, '{}'::jsonb) || ${JSON.stringify(evidence)}::jsonb
       WHERE id = ${attempt.id} AND state::text = 'open'`;
    if (parked !== 1) return false;
    await tx.$executeRaw`
      UPDATE lanes SET must_settle = must_settle OR ${mustSettle}, updated_at = now()
       WHERE device_id = ${attempt.deviceId}`;
    const moved = await tx.$executeRaw`
      UPDATE receipts SET status = 'unknown', updated_at = now() WHERE id = ${attempt.receiptId} AND status::text = 'sending'`;
    return moved === 1;
  }

  /** Of each receipt that waits in this lane the last attempt there that ended without proof, locked. */
  async lockUnprovenAttempts(tx: Tx, deviceId: string): Promise<{ id: string; receiptId: string }[]> {
    const rows = await tx.$queryRaw<{ id: string; receipt_id: string }[]>`
      SELECT a.id, a.receipt_id FROM attempts a JOIN receipts r ON r.id = a.receipt_id
       WHERE r.device_id = ${deviceId} AND r.status = 'accepted' AND a.device_id = ${deviceId} AND ${UNPROVEN_ATTEMPT}
       ORDER BY r.lane_place, a.number DESC FOR UPDATE OF a`;
    const lastOf = new Map<string, string>();
    for (const row of rows) if (!lastOf.has(row.receipt_id)) lastOf.set(row.receipt_id, row.id);
    return [...lastOf].map(([receiptId, id]) => ({ id, receiptId }));
  }

  /**
   * Of each receipt that waits in this lane without any attempt and is older than a restore, an attempt without a sending: the
   * old module may have registered it after the copy was taken.
   */
  async attemptsForCopied(tx: Tx, deviceId: string): Promise<{ id: string; receiptId: string }[]> {
    const receipts = await tx.$queryRaw<{ id: string }[]>`
      SELECT r.id FROM receipts r
       WHERE r.device_id = ${deviceId} AND r.status = 'accepted' AND ${FROM_COPY}
         AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT})
       ORDER BY r.lane_place FOR UPDATE OF r`;
    const made = receipts.map(({ id: receiptId }) => ({ id: newId('att'), receiptId }));
    await tx.$executeRaw`
      INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
      SELECT m.attempt_id, m.receipt_id, ${deviceId},
             1 + (SELECT coalesce(max(a.number), 0) FROM attempts a WHERE a.receipt_id = m.receipt_id), 'unknown',
             '{"terminalId": null, "journalId": null, "sequence": null, "reading": null}'::jsonb, '', ${HELD_BY_RESTORE},
             now(), '{}'::jsonb
        FROM unnest(${made.map(({ id }) => id)}::text[], ${made.map(({ receiptId }) => receiptId)}::text[])
             AS m(attempt_id, receipt_id)`;
    return made;
  }

  /** Out of its lane again, its attempt undecided; what was decided before stays to be read. False: it waits no longer. */
  async holdBack(tx: Tx, { id, receiptId }: { id: string; receiptId: string }, why: string): Promise<boolean> {
    const moved = await tx.$executeRaw`
      UPDATE receipts SET status = 'unknown', updated_at = now() WHERE id = ${receiptId} AND status::text = 'accepted'`;
    if (moved !== 1) return false;
    await tx.$executeRaw`
      UPDATE attempts
         SET state = 'unknown', closed_at = now(),
             outcome = (coalesce(outcome, '{}'::jsonb) - 'resolution')
                       || jsonb_build_object('why', ${why}::text, 'earlier_resolution', outcome -> 'resolution')
       WHERE id = ${id}`;
    return true;
  }

  /** Back into its lane, at the place that it had. */
  async moveToAccepted(tx: Tx, receiptId: string): Promise<boolean> {
    const moved = await tx.$executeRaw`
      UPDATE receipts SET status = 'accepted', updated_at = now() WHERE id = ${receiptId} AND status::text = 'unknown'`;
    return moved === 1;
  }

  /** Fails with SQLSTATE 23505 when another receipt of the merchant has this sequence of the terminal. */
  async moveToRegistered(
    tx: Tx,
    { receiptId, deviceId }: { receiptId: string; deviceId: string },
    registration: CheckedRegistration,
  ): Promise<boolean> {
    const { terminalId, receiptSeq, fiscalSign, verificationUrl } = registration;
    const registeredAt = registration.registeredAt.toISOString();
    const moved = await tx.$executeRaw`
      UPDATE receipts
         SET status = 'registered', updated_at = now(), device_id = ${deviceId}, terminal_id = ${terminalId},
             receipt_seq = ${receiptSeq}::bigint,
             fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl},
             registered_at = ${registeredAt}::timestamptz, evidence = 'operator', ofd_status = 'pending',
             ofd_deadline_at = ${registeredAt}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS}::int4)
       WHERE id = ${receiptId} AND status::text = 'unknown'`;
    return moved === 1;
  }

  /**
   * A registration that a person names has used up its sequence: an answer that names it once more, or an earlier one, is
   * none. Only on a lane without keys (with them the answers say it), for the module that stands there, and no further than
   * the lane's own reading of the counters: a slip of the pen must not put every later answer in the wrong.
   */
  async raiseLaneSequence(tx: Tx, deviceId: string, registration: CheckedRegistration): Promise<void> {
    const { terminalId, receiptSeq } = registration;
    await tx.$executeRaw`
      UPDATE lanes
         SET baseline = jsonb_set(baseline, '{sequence}', to_jsonb(greatest(
               coalesce((baseline ->> 'sequence')::bigint, 0),
               least(${receiptSeq}::bigint, (baseline #>> '{reading,sequence}')::bigint + ${UNKNOWN_OFFSET}::int4)))),
             updated_at = now()
       WHERE device_id = ${deviceId} AND baseline ->> 'terminalId' = ${terminalId} AND baseline ->> 'journalId' IS NULL
         AND baseline #>> '{reading,sequence}' IS NOT NULL`;
  }

  /** Whether a receipt of the merchant holds this sequence of this terminal. */
  async isSequenceTaken(
    tx: Tx,
    merchantId: string,
    { terminalId, receiptSeq }: { terminalId: string; receiptSeq: number },
  ): Promise<boolean> {
    const rows = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM receipts WHERE terminal_id = ${terminalId} AND receipt_seq = ${receiptSeq}::bigint
         AND merchant_id = ${merchantId}`;
    return rows.length > 0;
  }

  async tellOfReceipt(tx: Tx, receiptId: string, name: string, data: Record<string, unknown>): Promise<void> {
    await tx.$executeRaw`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.' || ${name}, id,
             jsonb_build_object('receipt_id', id) || ${JSON.stringify(data)}::jsonb
        FROM receipts WHERE id = ${receiptId}`;
  }

  async tellOfDevice(tx: Tx, deviceId: string, state: string, reason: string): Promise<void> {
    await tx.$executeRaw`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, 'device.' || ${state}, id,
             jsonb_build_object('device_id', id, 'reason', ${reason}::text)
        FROM devices WHERE id = ${deviceId}`;
  }
}
