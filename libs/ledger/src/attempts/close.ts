import { isUniqueViolation, Prisma } from '#database';
import { OFD_FUSE_HOURS, type Baseline, type Registration, type Rejection } from '#fiscal-domain';
import { receiptData, receiptEvents } from '../events.js';
import { isHeld, type LaneLock } from '../lanes/lane-lock.js';
import type { LastKnown } from '../lanes/lanes.js';
import { attemptMove, jsonOrNull, receiptMove, type HotStatements, type Statements } from '../statements.js';

/** Why the attempt ended as it did; stored beside it for support and operators. */
export type AttemptEvidence = Readonly<Record<string, unknown>>;

export interface CloseRegistered {
  attemptId: string;
  deviceId: string;
  registration: Registration;
  evidence: 'answer' | 'journal' | 'counters';
  /** The lane's baseline from now on. */
  baseline: Baseline;
  lastKnown: LastKnown | null;
}

const REGISTERED = {
  attempt: attemptMove('open', 'registered', 'relay'),
  receipt: receiptMove('sending', 'registered', 'relay'),
};
const REJECTED = {
  attempt: attemptMove('open', 'rejected', 'relay'),
  receipt: receiptMove('sending', 'rejected', 'relay'),
};
const NOT_REGISTERED = {
  attempt: attemptMove('open', 'not_registered', 'relay'),
  receipt: receiptMove('sending', 'accepted', 'relay'),
};
const UNKNOWN = {
  attempt: attemptMove('open', 'unknown', 'relay'),
  receipt: receiptMove('sending', 'unknown', 'relay'),
};
const STILL_OPEN = UNKNOWN.attempt.from;

/** `already_closed`: a successor resolved the attempt before. `sequence_taken`: another receipt holds it, nothing was changed. */
export async function closeRegistered(
  database: HotStatements,
  close: CloseRegistered,
  observe: (secondsSinceAccepted: number) => void = () => undefined,
): Promise<'closed' | 'already_closed' | 'sequence_taken'> {
  try {
    const moved = await moveToRegistered(database, close);
    if (!moved) return 'already_closed';
    if (moved.seconds !== null) observe(moved.seconds);
    return 'closed';
  } catch (error) {
    // receipts_one_per_registration_of_merchant: rolled back whole, the attempt is still open.
    if (isUniqueViolation(error)) return 'sequence_taken';
    throw error;
  }
}

/** @returns null: nothing was moved. `seconds` since it was accepted; null where it had waited for a payment */
async function moveToRegistered(
  database: HotStatements,
  close: CloseRegistered,
): Promise<{ seconds: number | null } | null> {
  const [moved] = await database.queryHot<{ seconds: number | null }>(Prisma.sql`
    WITH ${registeredParts(close)}
    SELECT seconds FROM moved`);
  return moved ?? null;
}

/** Parts of a statement: the attempt is `closed`, its receipt `moved`, the `lane` goes on from there, and it is `noted`. */
export function registeredParts(close: CloseRegistered): Prisma.Sql {
  const { attemptId, deviceId, registration, evidence, baseline, lastKnown } = close;
  const { terminalId, receiptSeq, fiscalSign, verificationUrl, ofdSent, ofdError } = registration;
  const registeredAt = new Date(registration.transactionTimeMs);
  const data = Prisma.sql`
    jsonb_build_object('receipt_id', id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                       'fiscal_sign', ${fiscalSign}::text, 'evidence', ${evidence}::text)`;
  return Prisma.sql`
    closed AS (
      UPDATE attempts a SET ${REGISTERED.attempt.set}, outcome = ${JSON.stringify({ registration, evidence })}::jsonb
       WHERE a.id = ${attemptId} AND ${REGISTERED.attempt.from} RETURNING a.receipt_id
    ), moved AS (
      UPDATE receipts r
         SET ${REGISTERED.receipt.set}, terminal_id = ${terminalId}, receipt_seq = ${receiptSeq},
             fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl}, registered_at = ${registeredAt},
             evidence = ${evidence}::evidence, recorded_fields = ${[...registration.recordedFields]}::text[],
             shift_number = ${registration.shiftNumber}::int,
             ofd_status = CASE WHEN ${ofdSent} THEN 'sent' ELSE 'pending' END::ofd_status,
             ofd_deadline_at = ${registeredAt}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS}),
             ofd_sent_at = CASE WHEN ${ofdSent} THEN now() END, ofd_error = ${ofdError}
        FROM closed WHERE r.id = closed.receipt_id AND ${REGISTERED.receipt.from}
      RETURNING r.id, r.merchant_id, r.type,
                CASE WHEN r.payment_id IS NULL THEN extract(epoch FROM now() - r.created_at)::float8 END AS seconds
    ), lane AS (
      UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, last_known = ${jsonOrNull(lastKnown)}::jsonb,
                       failures = 0, due_at = NULL, due_reason = NULL, updated_at = now()
       WHERE device_id = ${deviceId} AND EXISTS (SELECT FROM moved)
    ), noted AS (${receiptEvents('registered', data)})`;
}

/**
 * False, here and in `closeNotRegistered`, when the attempt is closed already or the lane lock is no longer this
 * session's by the database's own word: a successor may be repeating the request at this moment, and succeed.
 */
export async function closeRejected(
  database: Statements,
  attemptId: string,
  { rejection, evidence }: { rejection: Rejection; evidence: AttemptEvidence },
  lock: LaneLock,
): Promise<boolean> {
  const closed = await database.$queryRaw<{ id: string }[]>`
    WITH closed AS (
      UPDATE attempts a SET ${REJECTED.attempt.set}, outcome = ${JSON.stringify({ rejection, ...evidence })}::jsonb
       WHERE a.id = ${attemptId} AND ${REJECTED.attempt.from} AND ${isHeld(lock)} RETURNING a.receipt_id
    ), moved AS (
      UPDATE receipts r SET ${REJECTED.receipt.set}, rejection = ${JSON.stringify(rejection)}::jsonb
        FROM closed WHERE r.id = closed.receipt_id AND ${REJECTED.receipt.from}
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('rejected', receiptData({ rejection }))})
    SELECT id FROM moved`;
  return closed.length === 1;
}

/** Back to `accepted`, for the same lane place. */
export async function closeNotRegistered(
  database: Statements,
  attemptId: string,
  evidence: AttemptEvidence,
  lock: LaneLock,
): Promise<boolean> {
  const closed = await database.$queryRaw<{ id: string }[]>`
    WITH closed AS (
      UPDATE attempts a SET ${NOT_REGISTERED.attempt.set}, outcome = ${JSON.stringify(evidence)}::jsonb
       WHERE a.id = ${attemptId} AND ${NOT_REGISTERED.attempt.from} AND ${isHeld(lock)} RETURNING a.receipt_id
    )
    UPDATE receipts r SET ${NOT_REGISTERED.receipt.set}
      FROM closed WHERE r.id = closed.receipt_id AND ${NOT_REGISTERED.receipt.from}
    RETURNING r.id`;
  return closed.length === 1;
}

export async function closeUnknown(
  database: Statements,
  attemptId: string,
  evidence: AttemptEvidence,
  options: { mustSettle: boolean },
): Promise<boolean> {
  const closed = await database.$queryRaw<{ id: string }[]>`
    WITH closed AS (
      UPDATE attempts a SET ${UNKNOWN.attempt.set}, outcome = ${JSON.stringify(evidence)}::jsonb
       WHERE a.id = ${attemptId} AND ${UNKNOWN.attempt.from} RETURNING a.receipt_id, a.device_id
    ), lane AS (
      UPDATE lanes l SET must_settle = l.must_settle OR ${options.mustSettle}, updated_at = now()
        FROM closed WHERE l.device_id = closed.device_id
    ), moved AS (
      UPDATE receipts r SET ${UNKNOWN.receipt.set}
        FROM closed WHERE r.id = closed.receipt_id AND ${UNKNOWN.receipt.from}
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('unknown', receiptData({ attempt_id: attemptId, ...evidence }))})
    SELECT id FROM moved`;
  return closed.length === 1;
}

/** Notes, on the open attempt, that a repetition was refused to this relay just now. */
export async function noteRefusal(
  database: Statements,
  relayId: string,
  attemptId: string,
  evidence: AttemptEvidence,
): Promise<void> {
  await database.$executeRaw`
    UPDATE attempts a SET outcome = ${JSON.stringify(evidence)}::jsonb || jsonb_build_object(
             'refused_at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'refused_to', ${relayId}::text)
     WHERE a.id = ${attemptId} AND ${STILL_OPEN}`;
}
