import { HELD_BY_RESTORE, RESTORED } from '#database';
import { newId } from '#runtime';
import { MOST_REGISTERS, Reach, type FleetDevice } from './reach.js';

/** Runs one statement of a transaction that the caller has begun. */
export type Sql = <Row>(text: string, values: readonly unknown[]) => Promise<Row[]>;

/** Rows of one statement. */
const BATCH = 2_000;

interface HeldRow {
  id: string;
  device_id: string;
  moved_from: string[] | null;
  is_refund: boolean;
  open_attempt_id: string | null;
}

interface Hold {
  receiptId: string;
  attemptId: string;
  /** It was being sent when the copy was made: its own attempt is the one to decide. */
  isOpen: boolean;
  registers: FleetDevice[];
}

/** The registers of all merchants, or of the one whose receipt it is. */
export async function readFleet(sql: Sql, receiptId: string | null = null): Promise<Reach> {
  const devices = await sql<FleetDevice>(
    `SELECT id, merchant_id AS "merchantId", branch_id AS "branchId", group_id AS "groupId",
            coalesce(jsonb_typeof(profile -> 'failoverAfterMs') = 'number', false) AS "hasFailover",
            journal_id IS NOT NULL AS "knowsKeys"
       FROM devices
      WHERE deleted_at IS NULL
        AND ($1::text IS NULL OR merchant_id = (SELECT merchant_id FROM receipts WHERE id = $1))`,
    [receiptId],
  );
  return new Reach(devices);
}

/**
 * Makes receipts unknown that another register than their own may have, or that their own cannot be asked for by key, and
 * notes which registers are to be compared. Each has an attempt for a person to decide: the one that was open when the copy
 * was made, else one without a sending.
 *
 * @param receiptIds null: all that are accepted or being sent
 * @returns those that are held now
 */
export async function holdReceipts(sql: Sql, reach: Reach, receiptIds: readonly string[] | null): Promise<string[]> {
  const rows = await sql<HeldRow>(
    `SELECT r.id, r.device_id, r.moved_from, r.type = 'refund' AS is_refund,
            (SELECT a.id FROM attempts a WHERE a.receipt_id = r.id AND a.state = 'open') AS open_attempt_id
       FROM receipts r
      WHERE r.device_id IS NOT NULL AND ($1::text[] IS NULL AND r.status IN ('accepted', 'sending')
                                         OR r.id = ANY($1::text[]) AND r.status = 'accepted')
      ORDER BY r.id FOR UPDATE`,
    [receiptIds],
  );
  const holds = rows.flatMap((row) => holdOf(row, reach) ?? []);
  for (let from = 0; from < holds.length; from += BATCH) await hold(sql, holds.slice(from, from + BATCH));
  return holds.map(({ receiptId }) => receiptId);
}

/** Null: its own register answers for it. */
function holdOf(row: HeldRow, reach: Reach): Hold | null {
  const { id: receiptId, device_id: deviceId, moved_from: movedFrom, is_refund: isRefund } = row;
  const registers = reach.registersThatMayHave({ deviceId, movedFrom: movedFrom ?? [], isRefund });
  if (registers.length === 0) return null;
  const isOpen = row.open_attempt_id !== null;
  return { receiptId, attemptId: row.open_attempt_id ?? newId('att'), isOpen, registers };
}

async function hold(sql: Sql, holds: readonly Hold[]): Promise<void> {
  const made = holds.filter(({ isOpen }) => !isOpen);
  await sql(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
     SELECT h.attempt_id, r.id, r.device_id,
            1 + (SELECT coalesce(max(a.number), 0) FROM attempts a WHERE a.receipt_id = r.id), 'unknown',
            coalesce(l.baseline, '{"terminalId": null, "journalId": null, "sequence": null, "reading": null}'),
            '', '${HELD_BY_RESTORE}', now(), jsonb_build_object('why', $3::text)
       FROM unnest($1::text[], $2::text[]) AS h(receipt_id, attempt_id)
       JOIN receipts r ON r.id = h.receipt_id JOIN lanes l ON l.device_id = r.device_id`,
    [made.map(({ receiptId }) => receiptId), made.map(({ attemptId }) => attemptId), RESTORED],
  );
  await sql(
    `UPDATE attempts SET state = 'unknown', closed_at = now(),
                         outcome = coalesce(outcome, '{}'::jsonb) || jsonb_build_object('why', $2::text)
      WHERE id = ANY($1::text[]) AND state = 'open'`,
    [holds.filter(({ isOpen }) => isOpen).map(({ attemptId }) => attemptId), RESTORED],
  );
  await sql(
    `WITH held AS (
       UPDATE receipts r SET status = 'unknown', updated_at = now()
         FROM unnest($1::text[], $2::text[], $3::text[]) AS h(receipt_id, attempt_id, event_id)
        WHERE r.id = h.receipt_id
       RETURNING r.id, r.merchant_id, r.type, h.attempt_id, h.event_id
     )
     INSERT INTO events (id, merchant_id, type, subject_id, data)
     SELECT event_id, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.unknown', id,
            jsonb_build_object('receipt_id', id, 'attempt_id', attempt_id, 'why', $4::text)
       FROM held`,
    [
      holds.map(({ receiptId }) => receiptId),
      holds.map(({ attemptId }) => attemptId),
      holds.map(() => newId('evt')),
      RESTORED,
    ],
  );
  await noteChecks(sql, holds);
}

interface NewCheck {
  hold: Hold;
  deviceId: string;
  method: 'key' | 'counters';
  verdict: 'unproven' | null;
}

/** Counters are read once for each register: what was found there counts for all its receipts. */
async function noteChecks(sql: Sql, holds: readonly Hold[]): Promise<void> {
  const checks = holds.flatMap(checksOf);
  for (let from = 0; from < checks.length; from += BATCH) {
    const batch = checks.slice(from, from + BATCH);
    await sql(
      `INSERT INTO restore_checks (device_id, receipt_id, attempt_id, restored_at, method, verdict, evidence)
       SELECT c.device_id, c.receipt_id, c.attempt_id, i.changed_at, c.method,
              CASE c.method WHEN 'counters'
                THEN coalesce((SELECT d.verdict FROM restore_checks d WHERE d.device_id = c.device_id AND d.attempt_id IS NULL),
                              CASE WHEN EXISTS (SELECT FROM restore_checks d WHERE d.device_id = c.device_id
                                                   AND d.attempt_id IS NULL) THEN NULL ELSE 'unproven' END)
                ELSE c.verdict END,
              CASE WHEN c.verdict IS NOT NULL THEN jsonb_build_object('why', $6::text) END
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
              AS c(device_id, receipt_id, attempt_id, method, verdict), database_identity i
       ON CONFLICT (attempt_id, device_id) WHERE attempt_id IS NOT NULL
         DO UPDATE SET verdict = excluded.verdict, restored_at = excluded.restored_at, evidence = excluded.evidence,
                       due_at = now(), answered_at = NULL, seen_at = NULL`,
      [
        batch.map(({ deviceId }) => deviceId),
        batch.map((check) => check.hold.receiptId),
        batch.map((check) => check.hold.attemptId),
        batch.map(({ method }) => method),
        batch.map(({ verdict }) => verdict),
        `more than ${MOST_REGISTERS} registers could have it: compare with the OFD`,
      ],
    );
  }
}

function checksOf(hold: Hold): NewCheck[] {
  if (hold.registers.length <= MOST_REGISTERS)
    return hold.registers.map(({ id, knowsKeys }) => {
      return { hold, deviceId: id, method: knowsKeys ? 'key' : 'counters', verdict: null };
    });
  const [any] = hold.registers;
  return any ? [{ hold, deviceId: any.id, method: 'key', verdict: 'unproven' }] : [];
}
