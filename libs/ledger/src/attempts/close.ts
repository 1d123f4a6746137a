import { isUniqueViolation, Prisma } from '#database';
import { OFD_FUSE_HOURS, type Baseline, type Registration, type Rejection } from '#fiscal-domain';
import { EVENT_ID, receiptData, receiptEvents } from '../events.js';
import { inHalfYears, withinHalfYears } from '../half-years.js';
import { isHeld, type LaneLock } from '../lanes/lane-lock.js';
import type { LastKnown } from '../lanes/lanes.js';
import { attemptMove, receiptMove, type HotStatements, type Statements } from '../statements.js';
import { givenOne } from './given.js';

/** Why the attempt ended as it did; stored beside it for support and operators. */
export type AttemptEvidence = Readonly<Record<string, unknown>>;

/** An attempt as statements find it: it stands in the month of its receipt. */
export interface AttemptOfReceipt {
  attemptId: string;
  /** Whose attempt it is. */
  receiptId: string;
}

export interface CloseRegistered extends AttemptOfReceipt {
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
const REGISTERED_AT = Prisma.raw(`timestamptz 'epoch' + g.registered_ms * interval '1 millisecond'`);
const OFD_FUSE = Prisma.raw(`interval '${OFD_FUSE_HOURS} hours'`);

/** `already_closed`: a successor resolved the attempt before. `sequence_taken`: another receipt holds it, nothing was changed. */
export type Closed = 'closed' | 'already_closed' | 'sequence_taken';

export async function closeRegistered(
  database: HotStatements,
  close: CloseRegistered,
  observe: (secondsSinceAccepted: number) => void = () => undefined,
): Promise<Closed> {
  try {
    const [moved] = await database.queryHot<{ seconds: number | null }>(Prisma.sql`
      WITH ${givenOne({ close, next: null })}, ${registeredParts([close.receiptId])}
      SELECT seconds FROM moved`);
    if (!moved) return 'already_closed';
    if (moved.seconds !== null) observe(moved.seconds);
    return 'closed';
  } catch (error) {
    // receipts_one_per_registration_of_merchant: rolled back whole, the attempt is still open.
    if (isUniqueViolation(error)) return 'sequence_taken';
    throw error;
  }
}

/**
 * Parts of a statement, of each result that is `given`: the attempt is `closed`, its receipt `moved`, the `lane` goes on from there, and
 * it is `noted`. Of two results of one attempt the database takes either; the other one has closed nothing. `seconds` since it was
 * accepted; null where it had waited for a payment, or is a sandbox's, where a value in the sale says how long it takes. Made for the half-years of the receipts.
 */
export const registeredParts = inHalfYears(
  (within) => Prisma.sql`
    closed AS (
      SELECT g.number, g.receipt_id FROM given g
       WHERE close_attempt(g.receipt_id, g.attempt_id, ${REGISTERED.attempt.to}, g.outcome)
    ), moved AS (
      UPDATE receipts r
         SET ${REGISTERED.receipt.set}, terminal_id = g.terminal_id, receipt_seq = g.receipt_seq,
             fiscal_sign = g.fiscal_sign, verification_url = g.verification_url, registered_at = ${REGISTERED_AT},
             evidence = g.evidence, recorded_fields = g.recorded_fields, shift_number = g.shift_number,
             ofd_status = CASE WHEN g.ofd_sent THEN 'sent' ELSE 'pending' END::ofd_status,
             ofd_deadline_at = ${REGISTERED_AT} + ${OFD_FUSE},
             ofd_sent_at = CASE WHEN g.ofd_sent THEN now() END, ofd_error = g.ofd_error
        FROM closed JOIN given g USING (number)
       WHERE r.id = closed.receipt_id ${within} AND ${REGISTERED.receipt.from}
      RETURNING r.id, r.merchant_id, r.type, number,
                CASE WHEN r.payment_id IS NULL AND NOT starts_with(r.id, 'rcp_test_')
                     THEN extract(epoch FROM now() - r.created_at)::float8 END AS seconds
    ), lane AS (
      UPDATE lanes l SET baseline = g.baseline, last_known = g.last_known,
                         failures = 0, due_at = NULL, due_reason = NULL, updated_at = now()
        FROM moved JOIN given g USING (number) WHERE l.device_id = g.device_id
    ), noted AS (${receiptEvents(
      'registered',
      Prisma.raw(`jsonb_build_object('receipt_id', id, 'terminal_id', terminal_id, 'receipt_seq', receipt_seq,
                                     'fiscal_sign', fiscal_sign, 'evidence', evidence)`),
      { id: EVENT_ID, from: Prisma.raw('moved JOIN given USING (number)') },
    )})`,
);

/**
 * On `r`: it is the receipt of the attempt that is `closed`. Named as a value as well: of a month that is known only when the statement runs
 * PostgreSQL expects a row of each, and a plan from a time when there were no receipts would read all of them to join them with those.
 */
const isOfClosed = (receiptId: string): Prisma.Sql =>
  Prisma.sql`r.id = closed.receipt_id AND r.id = ${receiptId} ${withinHalfYears([receiptId])}`;

/**
 * False, here and in `closeNotRegistered`, when the attempt is closed already or another receipt's, or the lane lock is no longer this
 * session's by the database's own word: a successor may be repeating the request at this moment, and succeed.
 */
export async function closeRejected(
  database: Statements,
  { attemptId, receiptId }: AttemptOfReceipt,
  { rejection, evidence }: { rejection: Rejection; evidence: AttemptEvidence },
  lock: LaneLock,
): Promise<boolean> {
  const closed = await database.$queryRaw<{ id: string }[]>`
    WITH closed AS (
      UPDATE attempts a SET ${REJECTED.attempt.set}, outcome = ${JSON.stringify({ rejection, ...evidence })}::jsonb
       WHERE a.id = ${attemptId} AND a.receipt_id = ${receiptId} AND ${REJECTED.attempt.from} AND ${isHeld(lock)}
      RETURNING a.receipt_id
    ), moved AS (
      UPDATE receipts r SET ${REJECTED.receipt.set}, rejection = ${JSON.stringify(rejection)}::jsonb
        FROM closed WHERE ${isOfClosed(receiptId)} AND ${REJECTED.receipt.from}
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('rejected', receiptData({ rejection }))})
    SELECT id FROM moved`;
  return closed.length === 1;
}

/** Back to `accepted`, for the same lane place. */
export async function closeNotRegistered(
  database: Statements,
  { attemptId, receiptId }: AttemptOfReceipt,
  evidence: AttemptEvidence,
  lock: LaneLock,
): Promise<boolean> {
  const closed = await database.$queryRaw<{ id: string }[]>`
    WITH closed AS (
      UPDATE attempts a SET ${NOT_REGISTERED.attempt.set}, outcome = ${JSON.stringify(evidence)}::jsonb
       WHERE a.id = ${attemptId} AND a.receipt_id = ${receiptId} AND ${NOT_REGISTERED.attempt.from} AND ${isHeld(lock)}
      RETURNING a.receipt_id
    )
    UPDATE receipts r SET ${NOT_REGISTERED.receipt.set}
      FROM closed WHERE ${isOfClosed(receiptId)} AND ${NOT_REGISTERED.receipt.from}
    RETURNING r.id`;
  return closed.length === 1;
}

export async function closeUnknown(
  database: Statements,
  { attemptId, receiptId }: AttemptOfReceipt,
  evidence: AttemptEvidence,
  options: { mustSettle: boolean },
): Promise<boolean> {
  const closed = await database.$queryRaw<{ id: string }[]>`
    WITH closed AS (
      UPDATE attempts a SET ${UNKNOWN.attempt.set}, outcome = ${JSON.stringify(evidence)}::jsonb
       WHERE a.id = ${attemptId} AND a.receipt_id = ${receiptId} AND ${UNKNOWN.attempt.from} RETURNING a.receipt_id, a.device_id
    ), lane AS (
      UPDATE lanes l SET must_settle = l.must_settle OR ${options.mustSettle}, updated_at = now()
        FROM closed WHERE l.device_id = closed.device_id
    ), moved AS (
      UPDATE receipts r SET ${UNKNOWN.receipt.set}
        FROM closed WHERE ${isOfClosed(receiptId)} AND ${UNKNOWN.receipt.from}
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('unknown', receiptData({ attempt_id: attemptId, ...evidence }))})
    SELECT id FROM moved`;
  return closed.length === 1;
}

/** Notes, on the open attempt, that a repetition was refused to this relay just now. */
export async function noteRefusal(
  database: Statements,
  relayId: string,
  { attemptId, receiptId }: AttemptOfReceipt,
  evidence: AttemptEvidence,
): Promise<void> {
  await database.$executeRaw`
    UPDATE attempts a SET outcome = ${JSON.stringify(evidence)}::jsonb || jsonb_build_object(
             'refused_at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'refused_to', ${relayId}::text)
     WHERE a.id = ${attemptId} AND a.receipt_id = ${receiptId} AND ${STILL_OPEN}`;
}
