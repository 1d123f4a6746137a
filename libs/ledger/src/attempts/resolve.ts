import { Prisma, UNPROVEN_ATTEMPT } from '#database';
import type { Rejection } from '#fiscal-domain';
import { newId } from '#runtime';
import { EVENT_ID, receiptEvents } from '../events.js';
import { attemptMove, receiptMove, type Statements } from '../statements.js';

/** The end of a parked attempt: a person's decision, or the comparison after a restore. */

const FOUND = attemptMove('unknown', 'registered', 'operator');
const ABSENT = attemptMove('unknown', 'not_registered', 'operator');
const BACK = receiptMove('unknown', 'accepted', 'operator');
const ENDED = receiptMove('unknown', 'rejected', 'operator');
const ENDED_WAITING = receiptMove('accepted', 'rejected', 'operator');
const COMPARED = attemptMove('unknown', 'not_registered', 'restore');
const BACK_BY_COMPARISON = receiptMove('unknown', 'accepted', 'restore');

/** Closes an attempt that was parked; what was found out about it stays beside the decision. False: it is decided already. */
export async function closeParked(
  tx: Statements,
  attemptId: string,
  { state, resolution }: { state: 'registered' | 'not_registered'; resolution: Record<string, unknown> },
): Promise<boolean> {
  const move = state === 'registered' ? FOUND : ABSENT;
  const closed = await tx.$executeRaw`
    UPDATE attempts a
       SET ${move.set},
           outcome = coalesce(a.outcome, '{}'::jsonb) || jsonb_build_object('resolution', ${JSON.stringify(resolution)}::jsonb)
     WHERE a.id = ${attemptId} AND ${move.from}`;
  return closed === 1;
}

/**
 * What became of a document that a register turned out to have although a person had ended its receipt: the receipt stays rejected, and a later
 * answer with the same document opens nothing again. False: it is decided already.
 */
export async function closeFoundLate(
  tx: Statements,
  attemptId: string,
  {
    document,
    resolution,
  }: { document: { terminalId: string; receiptSeq: number }; resolution: Record<string, unknown> },
): Promise<boolean> {
  const place = JSON.stringify({ terminal_id: document.terminalId, receipt_seq: document.receiptSeq });
  const closed = await tx.$executeRaw`
    UPDATE attempts a
       SET outcome = (a.outcome - 'found_late')
             || CASE WHEN d.left_over IS NULL THEN '{}'::jsonb ELSE jsonb_build_object('found_late', d.left_over) END
             || jsonb_build_object('decided_late', coalesce(a.outcome -> 'decided_late', '[]'::jsonb)
                  || (${JSON.stringify(resolution)}::jsonb || jsonb_build_object('found_late', d.decided)))
      FROM (SELECT o.id, jsonb_agg(f.one ORDER BY f.at) FILTER (WHERE NOT f.one @> ${place}::jsonb) AS left_over,
                   jsonb_agg(f.one) FILTER (WHERE f.one @> ${place}::jsonb) -> 0 AS decided
              FROM attempts o, jsonb_array_elements(o.outcome -> 'found_late') WITH ORDINALITY f(one, at)
             WHERE o.id = ${attemptId} GROUP BY o.id) d
     WHERE a.id = d.id AND d.decided IS NOT NULL`;
  return closed === 1;
}

/**
 * Part of a statement that sends again what is `given`. Whom these lanes know stays so until it has committed: a register that one meets for the first
 * time holds back what relies on the keys of the one before (`holdBackUnproven`), and must see it. Results of these lanes do not wait for it.
 */
const LOCKED = Prisma.raw(`
    locked AS MATERIALIZED (
      SELECT l.device_id FROM lanes l WHERE l.device_id IN (SELECT a.device_id FROM attempts a JOIN given g ON g.id = a.id)
       ORDER BY l.device_id FOR KEY SHARE OF l
    )`);
const IS_LOCKED = Prisma.raw('a.device_id IN (SELECT device_id FROM locked)');

/** Back into its lane, at the place that it had, with the same lock. False: it is not unknown any more. */
export async function sendAgain(tx: Statements, receiptId: string): Promise<boolean> {
  await tx.$queryRaw`
    SELECT l.device_id FROM lanes l JOIN receipts r ON r.device_id = l.device_id WHERE r.id = ${receiptId} FOR KEY SHARE OF l`;
  const moved = await tx.$executeRaw`
    UPDATE receipts r SET ${BACK.set} WHERE r.id = ${receiptId} AND ${BACK.from}`;
  return moved === 1;
}

/**
 * No register has it, and none will be given it any more: of one that is unknown, or that a person had sent again and that waits. What was
 * never sent is cancelled instead. False: it is neither.
 */
export async function rejectUnregistered(tx: Statements, receiptId: string, rejection: Rejection): Promise<boolean> {
  const moved = await tx.$executeRaw`
    UPDATE receipts r SET ${ENDED.set}, rejection = ${JSON.stringify(rejection)}::jsonb
     WHERE r.id = ${receiptId} AND (${ENDED.from} OR (${ENDED_WAITING.from} AND EXISTS (
             SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT})))`;
  return moved === 1;
}

/**
 * No register has them: back into their lanes. Without the proof of its own counters a receipt still needs its key: the register of
 * its lane was not asked. @returns whose lanes have got some
 */
export async function releaseCompared(database: Statements, attemptIds: readonly string[]): Promise<string[]> {
  const rows = await database.$queryRaw<{ device_id: string }[]>`
    WITH given AS (${withEventIds(attemptIds)}), ${LOCKED}, closed AS (
      UPDATE attempts a
         SET ${COMPARED.set},
             outcome = coalesce(a.outcome, '{}'::jsonb) || jsonb_build_object('compared',
               (SELECT jsonb_agg(jsonb_build_object('device_id', c.device_id, 'method', c.method, 'verdict', c.verdict,
                                                    'at', to_char(c.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
                  FROM restore_checks c WHERE c.attempt_id = a.id))
               || CASE WHEN EXISTS (SELECT FROM restore_checks c WHERE c.attempt_id = a.id AND c.method = 'counters'
                                       AND c.device_id = a.device_id)
                       THEN '{"proof": {"kind": "not_registered"}}'::jsonb ELSE '{}'::jsonb END
        FROM given g WHERE a.id = g.id AND ${COMPARED.from} AND ${IS_LOCKED}
      RETURNING a.id, a.receipt_id, g.event_id
    ), moved AS (
      UPDATE receipts r SET ${BACK_BY_COMPARISON.set}
        FROM closed WHERE r.id = closed.receipt_id AND ${BACK_BY_COMPARISON.from}
      RETURNING r.id, r.merchant_id, r.type, r.device_id, closed.id AS attempt_id, closed.event_id
    ), noted AS (${acceptedAgain('comparison')})
    SELECT DISTINCT device_id FROM moved`;
  return rows.map(({ device_id: deviceId }) => deviceId);
}

/**
 * A person answers for it that the database lost nothing. What was sent still needs its key. What stands for a sending after the copy alone
 * (no bytes) was then never sent, and that is proof: a register that its lane meets for the first time would hold it back else.
 *
 * @returns how many receipts are back in their lanes
 */
export async function giveBackHeld(
  tx: Statements,
  attemptIds: readonly string[],
  resolution: Record<string, unknown>,
): Promise<number> {
  const word = JSON.stringify(resolution);
  const moved = await tx.$queryRaw<{ id: string }[]>`
    WITH given AS (${withEventIds(attemptIds)}), ${LOCKED}, closed AS (
      UPDATE attempts a SET ${ABSENT.set},
             outcome = coalesce(a.outcome, '{}'::jsonb) ||
               CASE WHEN length(a.request) = 0
                    THEN jsonb_build_object('nothing_lost', ${word}::jsonb, 'proof', '{"kind": "not_registered"}'::jsonb)
                    ELSE jsonb_build_object('resolution', ${word}::jsonb) END
        FROM given g WHERE a.id = g.id AND ${ABSENT.from} AND ${IS_LOCKED} RETURNING a.id, a.receipt_id, g.event_id
    ), moved AS (
      UPDATE receipts r SET ${BACK.set}
        FROM closed WHERE r.id = closed.receipt_id AND ${BACK.from}
      RETURNING r.id, r.merchant_id, r.type, closed.id AS attempt_id, closed.event_id
    ), noted AS (${acceptedAgain('operator')})
    SELECT id FROM moved`;
  return moved.length;
}

/** What the counters of a register say, beside the parked attempts that it may have. */
export async function noteCounters(tx: Statements, deviceId: string, evidence: Record<string, unknown>): Promise<void> {
  await tx.$executeRaw`
    UPDATE attempts a SET outcome = coalesce(a.outcome, '{}'::jsonb) || ${JSON.stringify(evidence)}::jsonb
      FROM restore_checks c
     WHERE c.device_id = ${deviceId} AND c.method = 'counters' AND a.id = c.attempt_id AND a.device_id = ${deviceId}
       AND a.state = 'unknown'`;
}

function withEventIds(attemptIds: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    SELECT * FROM unnest(${[...attemptIds]}::text[], ${attemptIds.map(() => newId('evt'))}::text[]) AS x(id, event_id)`;
}

function acceptedAgain(evidence: 'comparison' | 'operator'): Prisma.Sql {
  const data = Prisma.sql`
    jsonb_build_object('receipt_id', id, 'attempt_id', attempt_id, 'evidence', ${evidence}::text)`;
  return receiptEvents('accepted', data, { id: EVENT_ID });
}
