import { Prisma, UNPROVEN_ATTEMPT } from '#database';
import type { Baseline, Calibration, ExpectedGrowth } from '#fiscal-domain';
import { doubtCompared } from '../attempts/hold-from-copy.js';
import { jsonOrNull, type Statements } from '../statements.js';
import { isHeld, type LaneLock } from './lane-lock.js';

/** When a lane may be worked on next, and what was last seen of its register. A settle time that runs is ended by its own verbs alone. */

/** The last registration that an answer named, for comparing the next reading of the counters. */
export interface LastKnown {
  receiptSeq: number;
  growth: ExpectedGrowth | null;
}

/** How long others keep off after the settle time of a relay that may only be late. */
export const SETTLE_GRACE_SECONDS = 10;

/** A clock that is adjusted by less makes no wait longer than it may be anyway. */
const NOTICED_FROM = '5 s';

/** Sets the lane's due time on the database's clock. */
export async function postponeLane(
  database: Statements,
  deviceId: string,
  wait: { afterMs: number; reason: string; failures: number },
): Promise<void> {
  await database.$executeRaw`
    UPDATE lanes SET due_at = now() + make_interval(secs => ${wait.afterMs / 1_000}), due_reason = ${wait.reason},
                     failures = ${wait.failures}, settling_relay = NULL, settle_until = NULL, updated_at = now()
     WHERE device_id = ${deviceId}`;
}

/** Names this relay as the one that waits out a settle time; others keep off until 10 s after it. */
export async function beginSettle(
  database: Statements,
  relayId: string,
  deviceId: string,
  { afterMs, reason }: { afterMs: number; reason: string },
): Promise<void> {
  await database.$executeRaw`
    UPDATE lanes SET due_at = now() + make_interval(secs => ${afterMs / 1_000}), due_reason = ${reason},
                     settling_relay = ${relayId}, settle_until = now() + make_interval(secs => ${afterMs / 1_000}),
                     updated_at = now()
     WHERE device_id = ${deviceId}`;
}

/**
 * The lane is settled: it goes on from this reading; null: from what it knows, which may be nothing. Only while the lane lock is still this session's: a successor may
 * have parked another attempt, whose settling this must not end.
 */
export async function endSettle(
  database: Statements,
  deviceId: string,
  baseline: Baseline | null,
  lock: LaneLock,
): Promise<void> {
  await database.$executeRaw`
    UPDATE lanes SET baseline = coalesce(${jsonOrNull(baseline)}::jsonb, baseline), last_known = NULL, must_settle = false,
                     settling_relay = NULL, settle_until = NULL, due_at = NULL, due_reason = NULL, updated_at = now()
     WHERE device_id = ${deviceId} AND ${isHeld(lock)}`;
}

export async function saveReading(
  database: Statements,
  deviceId: string,
  baseline: Baseline,
  calibration: Calibration | null,
): Promise<void> {
  await database.$executeRaw`
    UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, last_known = NULL,
                     calibration = ${jsonOrNull(calibration)}::jsonb, updated_at = now()
     WHERE device_id = ${deviceId}`;
}

/**
 * A part of the statement that notes who the register is: with a journal its answer is the lane's baseline as well.
 * @param isMet `isMetBy`; or true, where the caller holds back what needs the key of one before
 */
export function baselineOf(deviceId: string, baseline: Baseline, isMet: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, updated_at = now()
     WHERE device_id = ${deviceId} AND ${baseline.journalId}::text IS NOT NULL AND ${isMet}`;
}

/** The lane knows a register. */
export function knowsRegister(deviceId: string): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT FROM lanes WHERE device_id = ${deviceId} AND baseline IS NOT NULL)`;
}

/**
 * The same; or this one has no journal, and nothing that waits there was sent to one with keys without proof of its end. All that waits is read:
 * a million take ten seconds.
 */
export function isMetBy(deviceId: string, { journalId }: Baseline): Prisma.Sql {
  return Prisma.sql`
    (${knowsRegister(deviceId)}
     OR (${journalId}::text IS NULL AND NOT EXISTS (
           SELECT FROM lane_places(${deviceId}, 2147483647) w JOIN attempts a ON a.receipt_id = w.id
            WHERE a.baseline ->> 'journalId' IS NOT NULL AND ${UNPROVEN_ATTEMPT})))`;
}

/**
 * Until the transaction ends nothing is sent again there by a person's decision, and what was decided before is seen (attempts/resolve.ts). The device
 * first, as every change of one has it.
 */
export async function lockLane(tx: Statements, deviceId: string): Promise<void> {
  await tx.$queryRaw`SELECT id FROM devices WHERE id = ${deviceId} FOR NO KEY UPDATE`;
  await tx.$queryRaw`SELECT device_id FROM lanes WHERE device_id = ${deviceId} FOR UPDATE`;
}

/** A register without a journal is met: nothing of it is known but who it is. */
export async function noteMet(tx: Statements, deviceId: string, { terminalId }: Baseline): Promise<void> {
  const baseline: Baseline = { terminalId, journalId: null, sequence: null, reading: null };
  await tx.$executeRaw`
    UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, updated_at = now() WHERE device_id = ${deviceId}`;
}

/** A lane of a new device. One whose terminal was another merchant's may meet a request that sleeps there: without keys it is settled first. */
export async function createLane(tx: Statements, deviceId: string): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO lanes (device_id, must_settle)
    SELECT d.id, d.journal_id IS NULL AND EXISTS (
             SELECT FROM terminals t WHERE t.terminal_id = d.terminal_id AND t.proof <> 'first')
      FROM devices d WHERE d.id = ${deviceId}`;
}

/** Its register is back or was mended: the lane is due now, with a clean record. */
export async function wakeLane(tx: Statements, deviceId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE lanes SET due_at = NULL, due_reason = NULL, failures = 0, updated_at = now()
     WHERE device_id = ${deviceId} AND settling_relay IS NULL`;
}

/**
 * Lanes whose wait began in the future, by a clock of the database that has been set back since, begin it now: none is shortened.
 * @returns how many
 */
export function waitAnew(database: Statements): Promise<number> {
  return database.$executeRaw`
    UPDATE lanes SET due_at = now() + (due_at - updated_at), settle_until = now() + (settle_until - updated_at), updated_at = now()
     WHERE device_id IN (SELECT device_id FROM lanes WHERE due_at IS NOT NULL AND updated_at > now() + ${NOTICED_FROM}::interval
                            FOR NO KEY UPDATE SKIP LOCKED)`;
}

/** A lane that waits because its register was away is due now. @returns whether it waited */
export async function wakeWaitingLane(database: Statements, deviceId: string): Promise<boolean> {
  const woken = await database.$executeRaw`
    UPDATE lanes SET due_at = NULL, due_reason = NULL, updated_at = now()
     WHERE device_id = ${deviceId} AND failures > 0 AND due_at > now() AND settling_relay IS NULL`;
  return woken > 0;
}

/** A part of a statement: the lanes of these devices are due now. @param from a part with the id and whether it `is_back` */
export function wakeLanes(from: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    UPDATE lanes l SET due_at = NULL, due_reason = NULL
      FROM ${from} w WHERE l.device_id = w.id AND w.is_back AND l.settling_relay IS NULL`;
}

/** Nothing that was known of the register holds any more: the lane begins with who it meets. */
export async function forgetRegister(
  tx: Statements,
  deviceId: string,
  { mustSettle }: { mustSettle: boolean },
): Promise<void> {
  await tx.$executeRaw`
    UPDATE lanes SET baseline = NULL, last_known = NULL, calibration = NULL, failures = 0, due_at = NULL,
                     due_reason = NULL, settling_relay = NULL, settle_until = NULL,
                     must_settle = must_settle OR ${mustSettle}, updated_at = now()
     WHERE device_id = ${deviceId}`;
  await doubtCompared(tx, deviceId);
}

/**
 * A part of the statement that admits a register, after its part `moved`: one without keys whose terminal was another merchant's is
 * settled before the next send.
 */
export function settleFirstWhereProven({
  terminalId,
  journalId,
}: {
  terminalId: string;
  journalId: string | null;
}): Prisma.Sql {
  return Prisma.sql`
    UPDATE lanes l SET must_settle = true FROM moved
     WHERE l.device_id = moved.id AND ${journalId}::text IS NULL
       AND EXISTS (SELECT FROM terminals t WHERE t.terminal_id = ${terminalId} AND t.proof <> 'first')`;
}

/** A register that is not calibrated may report the sequence of the document before. */
const UNKNOWN_OFFSET = 1;

/**
 * A registration that a person names has used up its sequence: an answer that names it once more, or an earlier one, is
 * none. Only on a lane without keys (with them the answers say it), for the module that stands there, and no further than
 * the lane's own reading of the counters: a slip of the pen must not put every later answer in the wrong.
 */
export async function raiseLaneSequence(
  tx: Statements,
  deviceId: string,
  { terminalId, receiptSeq }: { terminalId: string; receiptSeq: number },
): Promise<void> {
  await tx.$executeRaw`
    UPDATE lanes
       SET baseline = jsonb_set(baseline, '{sequence}', to_jsonb(greatest(
             coalesce((baseline ->> 'sequence')::bigint, 0),
             least(${receiptSeq}::bigint, (baseline #>> '{reading,sequence}')::bigint + ${UNKNOWN_OFFSET}::int4)))),
           updated_at = now()
     WHERE device_id = ${deviceId} AND baseline ->> 'terminalId' = ${terminalId} AND baseline ->> 'journalId' IS NULL
       AND baseline #>> '{reading,sequence}' IS NOT NULL`;
}
