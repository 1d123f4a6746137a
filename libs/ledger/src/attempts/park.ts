import { FROM_COPY, HELD_BY_RESTORE, RECEIPT_SETTLED_CHANNEL, UNPROVEN_ATTEMPT } from '#database';
import { newId } from '#runtime';
import { receiptData, receiptEvents, writeReceiptEvent } from '../events.js';
import { attemptMove, receiptMove, type Statements } from '../statements.js';

/**
 * What nothing can be proven of becomes `unknown`: an open attempt with its receipt, or a receipt that waits and may be registered
 * already. Locks begin with the attempt, as in the relay's statements: the one that has it has the right to its lane and receipt.
 */

const ATTEMPT = attemptMove('open', 'unknown', 'operator');
const SENDING = receiptMove('sending', 'unknown', 'operator');
const WAITING = receiptMove('accepted', 'unknown', 'operator');
const DECIDED = attemptMove('not_registered', 'unknown', 'operator');

interface ParkedAttempt {
  id: string;
  receiptId: string;
  deviceId: string;
}

/** An open attempt becomes one that a person decides; its register may still be at work on it. False: it is open no longer. */
export async function parkAttempt(
  tx: Statements,
  attempt: ParkedAttempt,
  { evidence, mustSettle }: { evidence: Record<string, unknown>; mustSettle: boolean },
): Promise<boolean> {
  const parked = await tx.$executeRaw`
    UPDATE attempts a SET ${ATTEMPT.set}, outcome = coalesce(a.outcome, '{}'::jsonb) || ${JSON.stringify(evidence)}::jsonb
     WHERE a.id = ${attempt.id} AND ${ATTEMPT.from}`;
  if (parked !== 1) return false;
  await tx.$executeRaw`
    UPDATE lanes SET must_settle = must_settle OR ${mustSettle}, updated_at = now()
     WHERE device_id = ${attempt.deviceId}`;
  const moved = await tx.$executeRaw`
    UPDATE receipts r SET ${SENDING.set} WHERE r.id = ${attempt.receiptId} AND ${SENDING.from}`;
  if (moved !== 1) return false;
  await writeReceiptEvent(tx, attempt.receiptId, 'unknown', { attempt_id: attempt.id, ...evidence });
  return true;
}

/** The terminal is another merchant's from now on: its register cannot be asked in the name of the one before. */
export async function parkAttemptsOfTerminal(tx: Statements, terminalId: string, why: string): Promise<void> {
  const open = await tx.$queryRaw<{ id: string; receipt_id: string }[]>`
    SELECT a.id, a.receipt_id
      FROM devices d JOIN attempt_claims c ON c.device_id = d.id JOIN attempts a ON a.receipt_id = c.receipt_id AND a.id = c.attempt_id
     WHERE d.terminal_id = ${terminalId} AND d.deleted_at IS NULL AND ${ATTEMPT.from} ORDER BY a.id FOR UPDATE OF a`;
  for (const { id, receipt_id: receiptId } of open) {
    await tx.$executeRaw`
      UPDATE attempts a SET ${ATTEMPT.set}, outcome = coalesce(a.outcome, '{}'::jsonb) || jsonb_build_object('why', ${why}::text)
       WHERE a.id = ${id} AND ${ATTEMPT.from}`;
    await tx.$executeRaw`
      WITH moved AS (
        UPDATE receipts r SET ${SENDING.set} WHERE r.id = ${receiptId} AND ${SENDING.from}
        RETURNING r.id, r.merchant_id, r.type
      )
      ${receiptEvents('unknown', receiptData({ attempt_id: id, why }))}`;
    await tx.$executeRaw`SELECT pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${receiptId})`;
  }
}

/**
 * The module of a device was replaced, or is met for the first time since: what waits in its lane and may be registered in the old one is out of the lane again, with an
 * attempt that a person decides.
 *
 * @param keyedOnly what was sent to a register with keys: without them nothing was relied on but the person's word
 * @returns the receipts
 */
export async function holdBackUnproven(
  tx: Statements,
  deviceId: string,
  why: string,
  { keyedOnly }: { keyedOnly: boolean } = { keyedOnly: false },
): Promise<string[]> {
  const unproven = await lockUnproven(tx, deviceId, keyedOnly);
  const attempts = keyedOnly ? unproven : [...unproven, ...(await attemptsForCopied(tx, deviceId))];
  const heldBack: string[] = [];
  for (const attempt of attempts) if (await holdBack(tx, attempt, why)) heldBack.push(attempt.receiptId);
  return heldBack;
}

type Unproven = Pick<ParkedAttempt, 'id' | 'receiptId'>;

/** Of each receipt that waits in this lane the last attempt there that ended without proof, locked. */
async function lockUnproven(tx: Statements, deviceId: string, keyedOnly: boolean): Promise<Unproven[]> {
  const rows = await tx.$queryRaw<{ id: string; receipt_id: string }[]>`
    SELECT a.id, a.receipt_id FROM attempts a JOIN receipts r ON r.id = a.receipt_id
     WHERE r.device_id = ${deviceId} AND r.status = 'accepted' AND a.device_id = ${deviceId} AND ${UNPROVEN_ATTEMPT}
       AND (NOT ${keyedOnly}::bool OR a.baseline ->> 'journalId' IS NOT NULL)
     ORDER BY r.lane_place, a.number DESC FOR UPDATE OF a`;
  const lastOf = new Map<string, string>();
  for (const row of rows) if (!lastOf.has(row.receipt_id)) lastOf.set(row.receipt_id, row.id);
  return [...lastOf].map(([receiptId, id]) => ({ id, receiptId }));
}

/**
 * Of each receipt that waits in this lane without any attempt and is older than a restore, an attempt without a sending: the
 * old module may have registered it after the copy was taken.
 */
async function attemptsForCopied(tx: Statements, deviceId: string): Promise<Unproven[]> {
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

/** What was decided before stays to be read. False: it waits no longer. */
async function holdBack(tx: Statements, { id, receiptId }: Unproven, why: string): Promise<boolean> {
  const moved = await tx.$executeRaw`
    UPDATE receipts r SET ${WAITING.set} WHERE r.id = ${receiptId} AND ${WAITING.from}`;
  if (moved !== 1) return false;
  await tx.$executeRaw`
    UPDATE attempts a
       SET ${DECIDED.set}, closed_at = now(),
           outcome = (coalesce(a.outcome, '{}'::jsonb) - 'resolution')
                     || jsonb_build_object('why', ${why}::text, 'earlier_resolution', a.outcome -> 'resolution')
     WHERE a.id = ${id}`;
  await writeReceiptEvent(tx, receiptId, 'unknown', { attempt_id: id, why });
  return true;
}
