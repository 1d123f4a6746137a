import { isUniqueViolation, Prisma } from '#database';
import { OFD_FUSE_HOURS, type Registration } from '#fiscal-domain';
import { newId } from '#runtime';
import { insertEvents, receiptEvents, receiptEventType } from '../events.js';
import { receiptMove, type Statements } from '../statements.js';

export interface LateRegistration {
  receiptId: string;
  /** The register that has answered. */
  deviceId: string;
  registration: Registration;
  /** `answer` unless its journal was asked for it. */
  evidence?: 'answer' | 'journal';
}

export type LateAnswer =
  /** The same registration; a missing sign is completed. */
  | 'same'
  /** The receipt was parked as unknown, or waits to be sent again: this proves it, and it is not sent. */
  | 'proved'
  /** The receipt is registered elsewhere, is being sent again at this moment, or was ended as rejected or cancelled: an operator must decide. */
  | 'duplicate_suspected'
  /** This database does not know the receipt. */
  | 'no_receipt';

/** Of an attempt `a` with a document that was found late: whether its receipt `r` was ended, and nothing else comes of the document. */
export const ENDED_AND_FOUND = Prisma.raw(`(a.outcome ? 'found_late' AND r.status::text IN ('rejected', 'cancelled'))`);

const PROVED = receiptMove(['unknown', 'accepted'], 'registered', 'relay');
const WITH_REGISTERED = receiptEventType('registered');
const WITH_DUPLICATE = receiptEventType('duplicate_suspected');

/**
 * An answer whose attempt is closed already, or is not known here because the database was put back from a copy: completes,
 * proves or contradicts what was found meanwhile.
 */
export async function recordLateAnswer(database: Statements, answer: LateRegistration): Promise<LateAnswer> {
  try {
    return await completeOrProve(database, answer);
  } catch (error) {
    // receipts_one_per_registration_of_merchant: the answer names what another receipt holds, one of the two is not true.
    if (!isUniqueViolation(error)) throw error;
    await database.$executeRaw(
      receiptEvents('duplicate_suspected', dataOf(answer), {
        from: Prisma.sql`receipts WHERE id = ${answer.receiptId}`,
      }),
    );
    return 'duplicate_suspected';
  }
}

function dataOf({ registration, evidence = 'answer' }: LateRegistration): Prisma.Sql {
  const { terminalId, receiptSeq, fiscalSign } = registration;
  return Prisma.sql`
    jsonb_build_object('receipt_id', id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                       'fiscal_sign', ${fiscalSign}::text, 'evidence', ${evidence}::text)`;
}

/**
 * Its receipt was ended, and the register has a document of it: beside the attempt, with others, for a person to take back. Once: not what was decided.
 * Also while it is sent again: where that is refused, the document waits from then on (`ENDED_AND_FOUND`).
 */
function foundLate({ deviceId, registration, evidence = 'answer' }: LateRegistration): Prisma.Sql {
  const { terminalId, receiptSeq, fiscalSign, verificationUrl, transactionTimeMs } = registration;
  const found = JSON.stringify({
    ...{ device_id: deviceId, terminal_id: terminalId, receipt_seq: receiptSeq, fiscal_sign: fiscalSign },
    ...{ verification_url: verificationUrl, registered_at: new Date(transactionTimeMs).toISOString(), evidence },
    at: new Date().toISOString(),
  });
  const known = JSON.stringify([{ terminal_id: terminalId, receipt_seq: receiptSeq }]);
  const decided = JSON.stringify([{ found_late: { terminal_id: terminalId, receipt_seq: receiptSeq } }]);
  return Prisma.sql`
      UPDATE attempts a
         SET outcome = coalesce(a.outcome, '{}'::jsonb) ||
               jsonb_build_object('found_late', coalesce(a.outcome -> 'found_late', '[]'::jsonb) || ${found}::jsonb)
        FROM ended
       WHERE a.receipt_id = ended.id AND a.number = (SELECT max(number) FROM closed)
         AND NOT coalesce(a.outcome -> 'found_late' @> ${known}::jsonb, false)
         AND NOT coalesce(a.outcome -> 'decided_late' @> ${decided}::jsonb, false)
      RETURNING a.id`;
}

async function completeOrProve(database: Statements, late: LateRegistration): Promise<LateAnswer> {
  const { receiptId, deviceId, registration, evidence = 'answer' } = late;
  const { terminalId, receiptSeq, fiscalSign, verificationUrl, shiftNumber } = registration;
  const recordedFields = [...registration.recordedFields];
  const noted = insertEvents(Prisma.sql`
    SELECT ${newId('evt')}, merchant_id,
           CASE WHEN EXISTS (SELECT FROM proved) THEN ${WITH_REGISTERED} ELSE ${WITH_DUPLICATE} END, id, ${dataOf(late)}
      FROM receipts WHERE id = ${receiptId} AND NOT EXISTS (SELECT FROM completed)`);
  // Attempts before receipts, as in an operator's decision: the two wait for each other, and the later one sees what the earlier one has done.
  const [row] = await database.$queryRaw<{ late: LateAnswer }[]>`
    WITH closed AS MATERIALIZED (
      SELECT a.receipt_id, a.number FROM attempts a WHERE a.receipt_id = ${receiptId} AND a.state::text <> 'open'
       ORDER BY a.number DESC FOR UPDATE OF a
    ), ended AS MATERIALIZED (
      -- OFFSET 0: judged by the row that is locked, not by the one before.
      SELECT id FROM (SELECT r.id, r.status FROM receipts r
                       WHERE r.id = ${receiptId} AND (SELECT count(*) FROM closed) > 0 OFFSET 0 FOR UPDATE OF r) r
       WHERE r.status::text IN ('rejected', 'cancelled', 'sending')
    ), found_late AS (${foundLate(late)}), completed AS (
      UPDATE receipts r SET fiscal_sign = coalesce(r.fiscal_sign, ${fiscalSign}),
                            verification_url = coalesce(r.verification_url, ${verificationUrl}), updated_at = now(),
                            recorded_fields = CASE WHEN coalesce(r.recorded_fields, '{}') = '{}' THEN ${recordedFields}::text[]
                                                   ELSE r.recorded_fields END,
                            shift_number = coalesce(r.shift_number, ${shiftNumber}::int)
        WHERE r.id = ${receiptId} AND (SELECT count(*) FROM ended) = 0 AND r.status::text = 'registered'
         AND r.terminal_id = ${terminalId} AND r.receipt_seq = ${receiptSeq}
      RETURNING r.id
    ), proved AS (
      UPDATE receipts r
         SET ${PROVED.set}, device_id = ${deviceId}, terminal_id = ${terminalId},
             receipt_seq = ${receiptSeq}, fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl},
             registered_at = ${new Date(registration.transactionTimeMs)}, evidence = ${evidence}::evidence, ofd_status = 'pending',
             recorded_fields = ${recordedFields}::text[], shift_number = ${shiftNumber}::int,
             ofd_deadline_at = ${new Date(registration.transactionTimeMs)}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS})
       WHERE r.id = ${receiptId} AND (SELECT count(*) FROM ended) = 0 AND ${PROVED.from}
      RETURNING r.id
    ), noted AS (${noted})
    SELECT CASE WHEN NOT EXISTS (SELECT FROM receipts WHERE id = ${receiptId}) THEN 'no_receipt'
                WHEN EXISTS (SELECT FROM completed) THEN 'same' WHEN EXISTS (SELECT FROM proved) THEN 'proved'
                ELSE 'duplicate_suspected' END AS late`;
  return row?.late ?? 'duplicate_suspected';
}
