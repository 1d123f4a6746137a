import { HELD_BY_RESTORE, Prisma, RESTORED } from '#database';
import { newId } from '#runtime';
import { EVENT_ID, receiptEvents } from '../events.js';
import { attemptMove, receiptMove, type Statements } from '../statements.js';

/** Runs one statement of a transaction that the caller has begun, over `pg` or over Prisma. */
export type RunStatement = <Row>(statement: Prisma.Sql) => Promise<Row[]>;

/** A receipt of a copy of the database that another register than its own may have. */
export interface HeldReceipt {
  receiptId: string;
  attemptId: string;
  /** It was being sent when the copy was made: its own attempt is the one to decide. */
  isOpen: boolean;
}

const ATTEMPT = attemptMove('open', 'unknown', 'restore');
const RECEIPT = receiptMove(['accepted', 'sending'], 'unknown', 'restore');

/** Which restore holds it: that nothing was lost is said of one (apps/gateway/src/operator/restore/nothing-lost.ts). */
const HELD_SINCE = Prisma.sql`
  jsonb_build_object('why', ${RESTORED}::text, 'restored_at', (SELECT changed_at FROM database_identity))`;

/**
 * They become unknown, each with an attempt for a person to decide: the one that was open when the copy was made, else one
 * without a sending. Their rows are locked by the caller (docs/adr/0053-compared-after-restore.md). The request of one that was open may still
 * be asleep on its way: a lane without keys waits it out before its next send, and a person before the decision.
 */
export async function holdCopied(run: RunStatement, held: readonly HeldReceipt[]): Promise<void> {
  const made = held.filter(({ isOpen }) => !isOpen);
  const open = held.filter(({ isOpen }) => isOpen);
  await run(Prisma.sql`
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
    SELECT h.attempt_id, r.id, r.device_id,
           1 + (SELECT coalesce(max(a.number), 0) FROM attempts a WHERE a.receipt_id = r.id), 'unknown',
           coalesce(l.baseline, '{"terminalId": null, "journalId": null, "sequence": null, "reading": null}'),
           '', ${HELD_BY_RESTORE}, now(), ${HELD_SINCE}
      FROM unnest(${made.map(({ receiptId }) => receiptId)}::text[], ${made.map(({ attemptId }) => attemptId)}::text[])
           AS h(receipt_id, attempt_id)
      JOIN receipts r ON r.id = h.receipt_id JOIN lanes l ON l.device_id = r.device_id`);
  await run(Prisma.sql`
    WITH parked AS (
      UPDATE attempts a SET ${ATTEMPT.set}, outcome = coalesce(a.outcome, '{}'::jsonb) || ${HELD_SINCE}
       WHERE a.id = ANY(${open.map(({ attemptId }) => attemptId)}::text[]) AND ${ATTEMPT.from}
      RETURNING a.device_id, a.baseline
    )
    UPDATE lanes l SET must_settle = true, updated_at = now()
      FROM parked WHERE l.device_id = parked.device_id AND parked.baseline ->> 'journalId' IS NULL`);
  const data = Prisma.sql`jsonb_build_object('receipt_id', id, 'attempt_id', attempt_id, 'why', ${RESTORED}::text)`;
  await run(Prisma.sql`
    WITH moved AS (
      UPDATE receipts r SET ${RECEIPT.set}
        FROM unnest(${held.map(({ receiptId }) => receiptId)}::text[], ${held.map(({ attemptId }) => attemptId)}::text[],
                    ${held.map(() => newId('evt'))}::text[]) AS h(receipt_id, attempt_id, event_id)
       WHERE r.id = h.receipt_id AND ${RECEIPT.from}
      RETURNING r.id, r.merchant_id, r.type, h.attempt_id, h.event_id
    )
    ${receiptEvents('unknown', data, { id: EVENT_ID })}`);
}

const FORGOTTEN = 'another module was adopted in it: this one cannot say what the one before has';

/**
 * What was known of a register holds no more, so that its answers prove nothing of what a copy of the database holds: neither of receipts that
 * it was still to be asked for, nor of those of its own lane, which were to be sent to it under keys that it knew. A person decides them. What is held later, out of a payment, finds the row of the register as a whole
 * (hold-receipts.ts).
 */
export async function doubtCompared(tx: Statements, deviceId: string): Promise<void> {
  const evidence = JSON.stringify({ why: FORGOTTEN });
  await tx.$executeRaw`
    UPDATE restore_checks SET verdict = 'unproven', evidence = ${evidence}::jsonb, seen_at = now()
     WHERE device_id = ${deviceId} AND verdict IS NULL`;
  await tx.$executeRaw`
    INSERT INTO restore_checks (device_id, receipt_id, attempt_id, restored_at, method, verdict, evidence)
    SELECT r.device_id, r.id, held.attempt_id, held.restored_at, 'key', 'unproven', ${evidence}::jsonb
      FROM devices d JOIN receipts r ON r.merchant_id = d.merchant_id AND r.status = 'unknown' AND r.device_id = d.id
     CROSS JOIN LATERAL (SELECT c.attempt_id, max(c.restored_at) AS restored_at FROM restore_checks c
                          WHERE c.receipt_id = r.id GROUP BY c.attempt_id) held
      JOIN attempts a ON a.receipt_id = r.id AND a.id = held.attempt_id AND a.state = 'unknown'
     WHERE d.id = ${deviceId}
    ON CONFLICT (attempt_id, device_id) WHERE attempt_id IS NOT NULL DO NOTHING`;
  await tx.$executeRaw`
    INSERT INTO restore_checks (device_id, restored_at, method, verdict, evidence)
    SELECT ${deviceId}, i.changed_at, 'key', 'unproven', ${evidence}::jsonb FROM database_identity i WHERE i.changed_at IS NOT NULL
    ON CONFLICT (device_id) WHERE attempt_id IS NULL DO UPDATE SET method = excluded.method, evidence = excluded.evidence
     WHERE restore_checks.verdict IS DISTINCT FROM 'absent'`;
}

/** Before the rows of devices: what holds and compares after a restore waits for the end of this transaction, or this for it. */
export async function lockRestore(tx: Statements): Promise<void> {
  await tx.$queryRaw`SELECT id FROM database_identity FOR NO KEY UPDATE`;
}
