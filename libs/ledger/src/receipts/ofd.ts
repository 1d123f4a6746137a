import { Prisma } from '#database';
import { newId } from '#runtime';
import { insertEvents, receiptEventType, type ReceiptEvent } from '../events.js';
import type { Statements } from '../statements.js';

/** Receipts on their way to the OFD. `ofd_status` goes from `pending` to `sent`, once, unless it began as `sent`; the receipt stays `registered`. */

/** Receipts that one statement marks, with their events. */
export const OFD_BATCH = 500;

/** Of one terminal, all that were recorded as registered before this moment of the database's clock. */
export interface SentBefore {
  deviceId: string;
  terminalId: string;
  before: Date;
  /** A module that lost documents says nothing about later ones. */
  upToSeq: number;
  /** Sequences that the register named as still unsent. */
  except: readonly number[];
}

/** @returns how many were marked; {@link OFD_BATCH}: there may be more */
export async function markSent(database: Statements, sent: SentBefore, now: Prisma.Sql): Promise<number> {
  const { deviceId, terminalId, before, upToSeq, except } = sent;
  return database.$executeRaw`
    WITH sent AS (
      SELECT id FROM receipts
       WHERE device_id = ${deviceId} AND ofd_status = 'pending' AND terminal_id = ${terminalId}
         AND updated_at < ${before} AND receipt_seq <= ${upToSeq} AND receipt_seq <> ALL(${[...except]}::bigint[])
       ORDER BY id LIMIT ${OFD_BATCH} FOR NO KEY UPDATE
    ), moved AS (
      UPDATE receipts r SET ofd_status = 'sent', ofd_sent_at = ${now}, ofd_error = NULL
        FROM sent WHERE r.id = sent.id AND r.ofd_status::text = 'pending'
      RETURNING r.id, r.merchant_id, r.type, r.terminal_id, r.receipt_seq
    )
    ${eventsOfMoved('ofd_sent')}`;
}

/** Why they are unsent, by sequence, as the register says. */
export async function noteOfdErrors(
  database: Statements,
  { deviceId, terminalId }: { deviceId: string; terminalId: string },
  errors: ReadonlyMap<number, string>,
): Promise<void> {
  await database.$executeRaw`
    UPDATE receipts r SET ofd_error = e.text
      FROM unnest(${[...errors.keys()]}::bigint[], ${[...errors.values()]}::text[]) AS e(seq, text)
     WHERE r.device_id = ${deviceId} AND r.terminal_id = ${terminalId} AND r.receipt_seq = e.seq
       AND r.ofd_status::text = 'pending' AND r.ofd_error IS DISTINCT FROM e.text`;
}

export interface OfdAlert {
  /** 1 warning, 2 alarm. */
  stage: number;
  event: Extract<ReceiptEvent, `ofd_deadline_${string}`>;
  hoursLeft: number;
}

/** Whether there is a receipt that {@link alertOfDeadline} would note now. */
export function isAnyAlertDue(alerts: readonly OfdAlert[], now: Prisma.Sql): Prisma.Sql {
  const due = alerts.map(
    ({ stage, hoursLeft }) =>
      Prisma.sql`unsent_before(${stage - 1}::smallint, ${now} + make_interval(hours => ${hoursLeft}::int), 1) > 0`,
  );
  return Prisma.sql`SELECT ${Prisma.join(due, ' OR ')}`;
}

/** Once for each receipt. @returns how many; {@link OFD_BATCH}: there may be more */
export async function alertOfDeadline(database: Statements, alert: OfdAlert, now: Prisma.Sql): Promise<number> {
  const { stage, event, hoursLeft } = alert;
  return database.$executeRaw`
    WITH due AS (
      SELECT id FROM receipts
       WHERE ofd_status = 'pending' AND ofd_alerts < 2 AND ofd_alerts = ${stage - 1}::smallint
         AND ofd_deadline_at <= ${now} + make_interval(hours => ${hoursLeft}::int)
       ORDER BY ofd_deadline_at LIMIT ${OFD_BATCH} FOR NO KEY UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE receipts r SET ofd_alerts = ${stage}::smallint FROM due
       WHERE r.id = due.id AND r.ofd_status::text = 'pending' AND r.ofd_alerts = ${stage - 1}::smallint
      RETURNING r.id, r.merchant_id, r.type, r.terminal_id, r.receipt_seq, r.ofd_deadline_at
    )
    ${eventsOfMoved(event)}`;
}

/** Ids are made here, not in SQL: one for each row that a batch may move. */
function eventsOfMoved(event: ReceiptEvent): Prisma.Sql {
  const ids = Array.from({ length: OFD_BATCH }, () => newId('evt'));
  return insertEvents(Prisma.sql`
    SELECT i.event_id, m.merchant_id, ${receiptEventType(event)}, m.id,
           jsonb_build_object('receipt_id', m.id, 'terminal_id', m.terminal_id, 'receipt_seq', m.receipt_seq)
      FROM (SELECT *, row_number() OVER (ORDER BY id) AS place FROM moved) m
      JOIN unnest(${ids}::text[]) WITH ORDINALITY AS i(event_id, place) USING (place)`);
}
