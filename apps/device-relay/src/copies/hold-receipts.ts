import { FROM_COPY, Prisma } from '#database';
import { holdCopied, type HeldReceipt, type RunStatement } from '#ledger';
import { newId } from '#runtime';
import { MOST_REGISTERS, Reach, type FleetDevice } from './reach.js';

/** Rows of one statement. */
const BATCH = 2_000;
const EXCHANGED = 'another module was adopted in it since the restore: this one cannot say what the one before has';
const TOO_MANY = `more than ${MOST_REGISTERS} registers could have it: compare with the OFD`;

interface HeldRow {
  id: string;
  device_id: string;
  moved_from: string[] | null;
  is_refund: boolean;
  open_attempt_id: string | null;
}

interface Hold extends HeldReceipt {
  registers: FleetDevice[];
}

/** The registers of all merchants, or of the one whose receipt it is. */
export async function readFleet(run: RunStatement, receiptId: string | null = null): Promise<Reach> {
  const devices = await run<FleetDevice>(Prisma.sql`
     SELECT id, merchant_id AS "merchantId", branch_id AS "branchId", group_id AS "groupId",
            coalesce(jsonb_typeof(profile -> 'failoverAfterMs') = 'number', false) AS "hasFailover",
            journal_id IS NOT NULL AS "knowsKeys",
            EXISTS (SELECT FROM restore_checks c WHERE c.device_id = devices.id AND c.attempt_id IS NULL
                       AND c.method = 'key' AND c.verdict = 'unproven') AS "wasExchanged"
       FROM devices
      WHERE deleted_at IS NULL
        AND (${receiptId}::text IS NULL OR merchant_id = (SELECT merchant_id FROM receipts WHERE id = ${receiptId}))`);
  return new Reach(devices);
}

/**
 * Makes receipts unknown that another register than their own may have, or that their own cannot be asked for by key, and
 * notes which registers are to be compared. Each has an attempt for a person to decide: the one that was open when the copy
 * was made, else one without a sending.
 *
 * @param receiptIds null: all that are accepted or being sent; else those of them that are still counted as a copy's
 * @returns those that are held now
 */
export async function holdReceipts(
  run: RunStatement,
  reach: Reach,
  receiptIds: readonly string[] | null,
): Promise<string[]> {
  const ids = receiptIds && [...receiptIds];
  const rows = await run<HeldRow>(Prisma.sql`
     SELECT r.id, r.device_id, r.moved_from, r.type = 'refund' AS is_refund,
            (SELECT a.id FROM attempts a WHERE a.receipt_id = r.id AND a.state = 'open') AS open_attempt_id
       FROM receipts r
      WHERE r.device_id IS NOT NULL AND (${ids}::text[] IS NULL AND r.status IN ('accepted', 'sending')
                                         OR r.id = ANY(${ids}::text[]) AND r.status = 'accepted' AND ${FROM_COPY})
      ORDER BY r.id FOR UPDATE`);
  const open = rows.flatMap((row) => holdOf(row, reach) ?? []);
  const holds = receiptIds === null ? open : await withoutProven(run, open);
  for (let from = 0; from < holds.length; from += BATCH) await hold(run, holds.slice(from, from + BATCH));
  return holds.map(({ receiptId }) => receiptId);
}

/** Not those that stand in no register: the counters of all that may have them are known to stand where the copy left them. */
async function withoutProven(run: RunStatement, holds: readonly Hold[]): Promise<Hold[]> {
  const ids = [...new Set(holds.flatMap(({ registers }) => registers.map(({ id }) => id)))];
  const unmoved = await run<{ device_id: string }>(Prisma.sql`
     SELECT device_id FROM restore_checks WHERE device_id = ANY(${ids}::text[]) AND attempt_id IS NULL AND verdict = 'absent'`);
  const absent = new Set(unmoved.map(({ device_id: id }) => id));
  return holds.filter(({ registers }) => !registers.every(({ id, knowsKeys }) => !knowsKeys && absent.has(id)));
}

/** Null: its own register answers for it. */
function holdOf(row: HeldRow, reach: Reach): Hold | null {
  const { id: receiptId, device_id: deviceId, moved_from: movedFrom, is_refund: isRefund } = row;
  const registers = reach.registersThatMayHave({ deviceId, movedFrom: movedFrom ?? [], isRefund });
  if (registers.length === 0) return null;
  const isOpen = row.open_attempt_id !== null;
  return { receiptId, attemptId: row.open_attempt_id ?? newId('att'), isOpen, registers };
}

async function hold(run: RunStatement, holds: readonly Hold[]): Promise<void> {
  await holdCopied(run, holds);
  await noteChecks(run, holds);
}

interface NewCheck {
  hold: Hold;
  deviceId: string;
  method: 'key' | 'counters';
  /** Why nothing proves anything there; null: it is asked. */
  unproven: string | null;
}

/** Counters are read once for each register: what was found there counts for all its receipts. */
async function noteChecks(run: RunStatement, holds: readonly Hold[]): Promise<void> {
  const checks = holds.flatMap(checksOf);
  for (let from = 0; from < checks.length; from += BATCH) {
    const batch = checks.slice(from, from + BATCH);
    await run(Prisma.sql`
       INSERT INTO restore_checks (device_id, receipt_id, attempt_id, restored_at, method, verdict, evidence)
       SELECT c.device_id, c.receipt_id, c.attempt_id, i.changed_at, c.method,
              CASE c.method WHEN 'counters'
                THEN coalesce((SELECT d.verdict FROM restore_checks d WHERE d.device_id = c.device_id AND d.attempt_id IS NULL),
                              CASE WHEN EXISTS (SELECT FROM restore_checks d WHERE d.device_id = c.device_id
                                                   AND d.attempt_id IS NULL) THEN NULL ELSE 'unproven' END)
                WHEN 'key' THEN CASE WHEN c.why IS NOT NULL THEN 'unproven' END END,
              CASE WHEN c.why IS NOT NULL THEN jsonb_build_object('why', c.why) END
         FROM unnest(${batch.map(({ deviceId }) => deviceId)}::text[], ${batch.map((check) => check.hold.receiptId)}::text[],
                     ${batch.map((check) => check.hold.attemptId)}::text[], ${batch.map(({ method }) => method)}::text[],
                     ${batch.map(({ unproven }) => unproven)}::text[])
              AS c(device_id, receipt_id, attempt_id, method, why), database_identity i
       ON CONFLICT (attempt_id, device_id) WHERE attempt_id IS NOT NULL
         DO UPDATE SET verdict = excluded.verdict, restored_at = excluded.restored_at, evidence = excluded.evidence,
                       due_at = now(), answered_at = NULL, seen_at = NULL`);
  }
}

function checksOf(hold: Hold): NewCheck[] {
  if (hold.registers.length <= MOST_REGISTERS)
    return hold.registers.map(({ id, knowsKeys, wasExchanged }) => {
      const unproven = knowsKeys && wasExchanged ? EXCHANGED : null;
      return { hold, deviceId: id, method: knowsKeys ? 'key' : 'counters', unproven };
    });
  const [any] = hold.registers;
  return any ? [{ hold, deviceId: any.id, method: 'key', unproven: TOO_MANY }] : [];
}
