import {
  FROM_COPY,
  isNotHeldElsewhere,
  isUniqueViolation,
  Prisma,
  UNPROVEN_ATTEMPT,
  type PrismaService,
} from '#database';
import { OFD_FUSE_HOURS, type Rejection } from '#fiscal-domain';
import { newId } from '#runtime';
import { holdReceipts, readFleet, type Sql } from '../restore/hold-receipts.js';
import { isHeld, isOnServerOf, jsonOrNull, LANES_GO } from './lane-sql.js';
import type {
  AttemptEvidence,
  CloseRegistered,
  Intent,
  LaneGrip,
  LaneStore,
  LateAnswer,
  LateRegistration,
} from './ports.js';

/** Of a copy of the database, and no register was asked whether it has it. */
const NOT_COMPARED = Prisma.sql`
  (${FROM_COPY} AND NOT EXISTS (SELECT FROM restore_checks c, database_identity i
                                 WHERE c.receipt_id = r.id AND c.restored_at = i.changed_at))`;

/**
 * From the intent to its end: attempt, receipt, lane and event move in one statement, from the expected state or not at all. The id
 * finds the row, so status and state are compared as text: written otherwise they would fit the small indexes of what is under way,
 * and a planner that believes these to be empty reads them from end to end (docs/adr/0060-lane-reads.md).
 */
export class MoveAttempts {
  constructor(
    private readonly prisma: PrismaService,
    private readonly relayId: string,
  ) {}

  /**
   * Withdrawn: it may not be sent any more. A hold that has run out, and a refund whose module is no longer the one in this
   * register (only the one that sold can take it back), become `cancelled` here and now. A terminal that was moved to
   * another merchant since it was read is not sent to: the lane reads the device anew, and stops.
   */
  async openAttempt(intent: Intent): ReturnType<LaneStore['openAttempt']> {
    const { terminalId } = intent.baseline;
    const here = Prisma.sql`(${isOnServerOf(intent.grip)} AND ${LANES_GO})`;
    const misplaced = Prisma.sql`
      (type = 'refund' AND ${terminalId}::text IS NOT NULL
       AND coalesce(document #>> '{refundInfo,terminalId}', ${terminalId}) <> ${terminalId})`;
    try {
      const [opened] = await this.prisma.queryHot<{ opened: boolean; is_here: boolean }>(Prisma.sql`
        WITH moved AS (
          UPDATE receipts r SET status = 'sending', updated_at = now()
           WHERE id = ${intent.receiptId} AND device_id = ${intent.deviceId} AND status::text = 'accepted' AND ${here}
             AND (dispatch_before IS NULL OR dispatch_before > now()) AND NOT ${misplaced}
             AND ${isNotHeldElsewhere(terminalId, Prisma.sql`r.merchant_id`)}
             AND r.lane_place <= (SELECT first.lane_place FROM lane_waiting(${intent.deviceId}, 1) first)
          RETURNING id
        ), held AS (
          UPDATE receipts SET status = 'cancelled', updated_at = now()
           WHERE id = ${intent.receiptId} AND device_id = ${intent.deviceId} AND status::text = 'accepted' AND ${here}
             AND (dispatch_before <= now() OR ${misplaced})
          RETURNING id, merchant_id, type, dispatch_before
        ), told AS (
          INSERT INTO events (id, merchant_id, type, subject_id, data)
          SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.cancelled', id,
                 jsonb_build_object('receipt_id', id, 'reason', CASE WHEN dispatch_before <= now()
                   THEN 'the payment hold ran out' ELSE 'the fiscal module that sold is no longer in this register' END)
            FROM held
        ), opened AS (
        INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
        SELECT ${intent.attemptId}, id, ${intent.deviceId},
               1 + (SELECT coalesce(max(number), 0) FROM attempts a WHERE a.receipt_id = moved.id),
               'open', ${JSON.stringify(intent.baseline)}::jsonb, ${intent.request}, ${this.relayId}
          FROM moved
        RETURNING id
        )
        SELECT EXISTS (SELECT FROM opened) AS opened, ${here} AS is_here`);
      if (opened?.opened) return 'opened';
      return opened?.is_here ? 'withdrawn' : 'lane_not_held';
    } catch (error) {
      // attempts_one_open_per_device: the statement was rolled back whole, the receipt is still accepted.
      if (isUniqueViolation(error)) return 'lane_occupied';
      throw error;
    }
  }

  async holdFromCopy(receiptId: string): Promise<boolean> {
    return this.prisma.$transaction(async (tx) => {
      const sql: Sql = <Row>(text: string, values: readonly unknown[]) => tx.$queryRawUnsafe<Row[]>(text, ...values);
      const held = await holdReceipts(sql, await readFleet(sql, receiptId), [receiptId]);
      return held.length > 0;
    });
  }

  async closeRegistered(close: CloseRegistered): Promise<'closed' | 'already_closed' | 'sequence_taken'> {
    try {
      return (await this.moveToRegistered(close)) ? 'closed' : 'already_closed';
    } catch (error) {
      // receipts_one_per_registration_of_merchant: rolled back whole, the attempt is still open.
      if (isUniqueViolation(error)) return 'sequence_taken';
      throw error;
    }
  }

  private async moveToRegistered(close: CloseRegistered): Promise<boolean> {
    const { attemptId, deviceId, registration, evidence, baseline, lastKnown } = close;
    const { terminalId, receiptSeq, fiscalSign, verificationUrl, ofdSent, ofdError } = registration;
    const registeredAt = new Date(registration.transactionTimeMs);
    const closed = await this.prisma.queryHot<{ id: string }>(Prisma.sql`
      WITH closed AS (
        UPDATE attempts SET state = 'registered', closed_at = now(), outcome = ${JSON.stringify({ registration, evidence })}::jsonb
         WHERE id = ${attemptId} AND state::text = 'open' RETURNING receipt_id
      ), moved AS (
        UPDATE receipts r
           SET status = 'registered', updated_at = now(), terminal_id = ${terminalId}, receipt_seq = ${receiptSeq},
               fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl}, registered_at = ${registeredAt},
               evidence = ${evidence}::evidence, recorded_fields = ${[...registration.recordedFields]}::text[],
               shift_number = ${registration.shiftNumber}::int,
               ofd_status = CASE WHEN ${ofdSent} THEN 'sent' ELSE 'pending' END::ofd_status,
               ofd_deadline_at = ${registeredAt}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS}),
               ofd_sent_at = CASE WHEN ${ofdSent} THEN now() END, ofd_error = ${ofdError}
          FROM closed WHERE r.id = closed.receipt_id AND r.status::text = 'sending'
        RETURNING r.id, r.merchant_id, r.type
      ), lane AS (
        UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, last_known = ${jsonOrNull(lastKnown)}::jsonb,
                         failures = 0, due_at = NULL, due_reason = NULL, updated_at = now()
         WHERE device_id = ${deviceId} AND EXISTS (SELECT FROM moved)
      ), told AS (
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.registered', id,
               jsonb_build_object('receipt_id', id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                                  'fiscal_sign', ${fiscalSign}::text, 'evidence', ${evidence}::text)
          FROM moved
      )
      SELECT id FROM moved`);
    return closed.length === 1;
  }

  async closeRejected(
    attemptId: string,
    rejection: Rejection,
    evidence: AttemptEvidence,
    grip: LaneGrip,
  ): Promise<boolean> {
    const closed = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH closed AS (
        UPDATE attempts SET state = 'rejected', closed_at = now(), outcome = ${JSON.stringify({ rejection, ...evidence })}::jsonb
         WHERE id = ${attemptId} AND state::text = 'open' AND ${isHeld(grip)} RETURNING receipt_id
      ), moved AS (
        UPDATE receipts r SET status = 'rejected', updated_at = now(), rejection = ${JSON.stringify(rejection)}::jsonb
          FROM closed WHERE r.id = closed.receipt_id AND r.status::text = 'sending'
        RETURNING r.id, r.merchant_id, r.type
      ), told AS (${this.receiptEvent('rejected', { rejection })})
      SELECT id FROM moved`;
    return closed.length === 1;
  }

  async rejectUnsent(where: { receiptId: string; deviceId: string }, rejection: Rejection): Promise<boolean> {
    const moved = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH moved AS (
        UPDATE receipts r SET status = 'rejected', updated_at = now(), rejection = ${JSON.stringify(rejection)}::jsonb
         WHERE id = ${where.receiptId} AND device_id = ${where.deviceId} AND status::text = 'accepted' AND NOT ${NOT_COMPARED}
           AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT})
        RETURNING id, merchant_id, type
      ), told AS (${this.receiptEvent('rejected', { rejection })})
      SELECT id FROM moved`;
    return moved.length === 1;
  }

  async closeNotRegistered(attemptId: string, evidence: AttemptEvidence, grip: LaneGrip): Promise<boolean> {
    const closed = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH closed AS (
        UPDATE attempts SET state = 'not_registered', closed_at = now(), outcome = ${JSON.stringify(evidence)}::jsonb
         WHERE id = ${attemptId} AND state::text = 'open'
           AND ${isHeld(grip)}
        RETURNING receipt_id
      )
      UPDATE receipts r SET status = 'accepted', updated_at = now()
        FROM closed WHERE r.id = closed.receipt_id AND r.status::text = 'sending'
      RETURNING r.id`;
    return closed.length === 1;
  }

  async closeUnknown(attemptId: string, evidence: AttemptEvidence, options: { mustSettle: boolean }): Promise<boolean> {
    const closed = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH closed AS (
        UPDATE attempts SET state = 'unknown', closed_at = now(), outcome = ${JSON.stringify(evidence)}::jsonb
         WHERE id = ${attemptId} AND state::text = 'open' RETURNING receipt_id, device_id
      ), lane AS (
        UPDATE lanes l SET must_settle = l.must_settle OR ${options.mustSettle}, updated_at = now()
          FROM closed WHERE l.device_id = closed.device_id
      ), moved AS (
        UPDATE receipts r SET status = 'unknown', updated_at = now()
          FROM closed WHERE r.id = closed.receipt_id AND r.status::text = 'sending'
        RETURNING r.id, r.merchant_id, r.type
      ), told AS (${this.receiptEvent('unknown', { attempt_id: attemptId, ...evidence })})
      SELECT id FROM moved`;
    return closed.length === 1;
  }

  async noteRefusal(attemptId: string, evidence: AttemptEvidence): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE attempts SET outcome = ${JSON.stringify(evidence)}::jsonb || jsonb_build_object(
               'refused_at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'refused_to', ${this.relayId}::text)
       WHERE id = ${attemptId} AND state::text = 'open'`;
  }

  async recordLateAnswer(answer: LateRegistration): Promise<LateAnswer> {
    try {
      return await this.completeOrProve(answer);
    } catch (error) {
      // receipts_one_per_registration_of_merchant: the answer names what another receipt holds, one of the two is not true.
      if (!isUniqueViolation(error)) throw error;
      return this.suspectDuplicate(answer);
    }
  }

  private async suspectDuplicate({
    receiptId,
    registration,
    evidence = 'answer',
  }: LateRegistration): Promise<LateAnswer> {
    const { terminalId, receiptSeq, fiscalSign } = registration;
    await this.prisma.$executeRaw`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, r.merchant_id,
             CASE r.type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.duplicate_suspected', r.id,
             jsonb_build_object('receipt_id', r.id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                                'fiscal_sign', ${fiscalSign}::text, 'evidence', ${evidence}::text)
        FROM receipts r WHERE r.id = ${receiptId}`;
    return 'duplicate_suspected';
  }

  private async completeOrProve(late: LateRegistration): Promise<LateAnswer> {
    const { receiptId, deviceId, registration, evidence = 'answer' } = late;
    const { terminalId, receiptSeq, fiscalSign, verificationUrl, shiftNumber } = registration;
    const recordedFields = [...registration.recordedFields];
    const [row] = await this.prisma.$queryRaw<{ late: LateAnswer }[]>`
      WITH completed AS (
        UPDATE receipts r SET fiscal_sign = coalesce(r.fiscal_sign, ${fiscalSign}),
                              verification_url = coalesce(r.verification_url, ${verificationUrl}), updated_at = now(),
                              recorded_fields = CASE WHEN coalesce(r.recorded_fields, '{}') = '{}' THEN ${recordedFields}::text[]
                                                     ELSE r.recorded_fields END,
                              shift_number = coalesce(r.shift_number, ${shiftNumber}::int)
          WHERE r.id = ${receiptId} AND r.status::text = 'registered'
           AND r.terminal_id = ${terminalId} AND r.receipt_seq = ${receiptSeq}
        RETURNING r.id
      ), proved AS (
        UPDATE receipts r
           SET status = 'registered', updated_at = now(), device_id = ${deviceId}, terminal_id = ${terminalId},
               receipt_seq = ${receiptSeq}, fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl},
               registered_at = ${new Date(registration.transactionTimeMs)}, evidence = ${evidence}::evidence, ofd_status = 'pending',
               recorded_fields = ${recordedFields}::text[], shift_number = ${shiftNumber}::int,
               ofd_deadline_at = ${new Date(registration.transactionTimeMs)}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS})
         WHERE r.id = ${receiptId} AND r.status::text IN ('unknown', 'accepted')
        RETURNING r.id
      ), told AS (
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        SELECT ${newId('evt')}, r.merchant_id,
               CASE r.type WHEN 'refund' THEN 'refund' ELSE 'receipt' END ||
               CASE WHEN EXISTS (SELECT FROM proved) THEN '.registered' ELSE '.duplicate_suspected' END, r.id,
               jsonb_build_object('receipt_id', r.id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                                  'fiscal_sign', ${fiscalSign}::text, 'evidence', ${evidence}::text)
          FROM receipts r WHERE r.id = ${receiptId} AND NOT EXISTS (SELECT FROM completed)
      )
      SELECT CASE WHEN NOT EXISTS (SELECT FROM receipts WHERE id = ${receiptId}) THEN 'no_receipt'
                  WHEN EXISTS (SELECT FROM completed) THEN 'same' WHEN EXISTS (SELECT FROM proved) THEN 'proved'
                  ELSE 'duplicate_suspected' END AS late`;
    return row?.late ?? 'duplicate_suspected';
  }

  /** The event of a receipt that a statement's `moved` has just moved. */
  private receiptEvent(name: string, data: Record<string, unknown>): Prisma.Sql {
    return Prisma.sql`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.' || ${name}, id,
             jsonb_build_object('receipt_id', id) || ${JSON.stringify(data)}::jsonb
        FROM moved`;
  }
}
