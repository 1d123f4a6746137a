import { Injectable } from '@nestjs/common';
import { FROM_COPY, Prisma, UNPROVEN_ATTEMPT } from '#database';
import {
  finalAfterMs,
  readProfile,
  type Baseline,
  type Calibration,
  type CounterReading,
  type ReceiptStatus,
  type ReceiptType,
} from '#fiscal-domain';
import type { AttemptState } from '#ledger';
import { readingIn } from './attempt-outcome.js';

type Tx = Prisma.TransactionClient;

/** An attempt with what a decision about it needs, its row and its receipt's row locked. */
export interface LockedAttempt {
  id: string;
  merchantId: string;
  receiptId: string;
  deviceId: string;
  state: AttemptState;
  createdAt: Date;
  baseline: Baseline;
  reading: CounterReading | null;
  outcome: Record<string, unknown> | null;
  /** The lane has not yet waited out a request that may be asleep. */
  mustSettle: boolean;
  /**
   * A request of its receipt, of this attempt or of another without proof, may still be asleep: since it was parked the register has not yet answered for
   * its settle time. A phone falls asleep with a request in its backlog, and works it off when it wakes.
   */
  mayBeAsleep: boolean;
  receiptStatus: ReceiptStatus;
  receiptType: ReceiptType;
  deviceTerminalId: string | null;
  /** Of other registers that may have it after a restore, by device. */
  otherTerminals: ReadonlyMap<string, string>;
  /** Its receipt is older than a restore of the database. */
  isFromCopy: boolean;
  /** Of its receipt's earlier attempts that ended without proof. */
  earlierBaselines: readonly Baseline[];
  calibration: Calibration | null;
}

/** To the last answer of its device; null: that does not answer, or is not the register that it was. */
const PARKED_BEFORE_ANSWER_MS = Prisma.sql`
  (SELECT (extract(epoch FROM d.last_seen_at - greatest(a.closed_at, d.state_since)) * 1000)::float8 FROM devices d
    WHERE d.id = a.device_id AND d.poll_failures = 0 AND d.state IN ('online', 'degraded', 'blocked', 'expired'))`;

interface AttemptRow {
  id: string;
  receipt_id: string;
  device_id: string;
  state: AttemptState;
  created_at: Date;
  answered_ms: number | null;
  baseline: Baseline;
  outcome: Record<string, unknown> | null;
}

interface DeviceRow {
  terminal_id: string | null;
  profile: unknown;
  calibration: Calibration | null;
  must_settle: boolean | null;
}

/**
 * What an operator's decisions are made of; libs/ledger carries them out. Locks begin with the attempt, as in the relay's
 * statements, so that no two deadlock.
 */
@Injectable()
export class OperatorRepository {
  /** Null: no such attempt of this merchant. */
  async lockAttempt(tx: Tx, merchantId: string, attemptId: string): Promise<LockedAttempt | null> {
    const [attempt] = await tx.$queryRaw<AttemptRow[]>`
      SELECT a.id, a.receipt_id, a.device_id, a.state, a.created_at, a.baseline, a.outcome,
             ${PARKED_BEFORE_ANSWER_MS} AS answered_ms
        FROM attempts a
       WHERE a.id = ${attemptId}
         AND EXISTS (SELECT FROM receipts r WHERE r.id = a.receipt_id AND r.merchant_id = ${merchantId})
         FOR UPDATE OF a`;
    if (!attempt) return null;
    // In a statement of its own: it must see what the one who held the attempt has done to the receipt.
    const [receipt] = await tx.$queryRaw<{ status: ReceiptStatus; type: ReceiptType; is_from_copy: boolean }[]>`
      SELECT r.status, r.type, ${FROM_COPY} AS is_from_copy FROM receipts r WHERE r.id = ${attempt.receipt_id} FOR UPDATE OF r`;
    const [device] = await tx.$queryRaw<DeviceRow[]>`
      SELECT d.terminal_id, d.profile, l.calibration, l.must_settle FROM devices d LEFT JOIN lanes l ON l.device_id = d.id
       WHERE d.id = ${attempt.device_id}`;
    if (!receipt) return null;
    const quietMs = finalAfterMs(readProfile(device?.profile).settleMs);
    const earlier = await tx.$queryRaw<Pick<AttemptRow, 'baseline' | 'answered_ms'>[]>`
      SELECT a.baseline, ${PARKED_BEFORE_ANSWER_MS} AS answered_ms FROM attempts a
       WHERE a.receipt_id = ${attempt.receipt_id} AND a.id <> ${attemptId} AND ${UNPROVEN_ATTEMPT}`;
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
      mayBeAsleep: [attempt, ...earlier].some(({ answered_ms: answeredMs }) => (answeredMs ?? 0) < quietMs),
      receiptStatus: receipt.status,
      receiptType: receipt.type,
      deviceTerminalId: device?.terminal_id ?? null,
      otherTerminals: new Map(others.map(({ id, terminal_id: terminalId }) => [terminalId, id])),
      isFromCopy: receipt.is_from_copy,
      earlierBaselines: earlier.map(({ baseline }) => baseline),
      calibration: device?.calibration ?? null,
    };
  }

  /** The device whose module this is; `none`: it is not known whose. Null: another merchant's, by its claim, or for want of one by a device. */
  async holderOf(tx: Tx, merchantId: string, terminalId: string): Promise<{ deviceId: string } | 'none' | null> {
    const [held] = await tx.$queryRaw<{ merchant_id: string | null; own: string | null; is_others: boolean }[]>`
      SELECT (SELECT t.merchant_id FROM terminals t WHERE t.terminal_id = ${terminalId}) AS merchant_id,
             (SELECT min(d.id) FROM devices d WHERE d.terminal_id = ${terminalId} AND d.deleted_at IS NULL
                 AND d.merchant_id = ${merchantId} AND d.state <> 'claimed_elsewhere') AS own,
             EXISTS (SELECT FROM devices d WHERE d.terminal_id = ${terminalId} AND d.deleted_at IS NULL
                        AND d.merchant_id <> ${merchantId}) AS is_others`;
    const isOwn = held?.merchant_id === merchantId;
    if (!held || (held.merchant_id !== null && !isOwn) || (held.is_others && !isOwn)) return null;
    return held.own === null ? 'none' : { deviceId: held.own };
  }

  /** Whether a receipt of the merchant holds this sequence of this terminal. */
  async isSequenceTaken(
    tx: Tx,
    merchantId: string,
    { terminalId, receiptSeq }: { terminalId: string; receiptSeq: number },
  ): Promise<boolean> {
    const rows = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM registration_claims
       WHERE terminal_id = ${terminalId} AND receipt_seq = ${receiptSeq}::bigint AND merchant_id = ${merchantId}`;
    return rows.length > 0;
  }
}
