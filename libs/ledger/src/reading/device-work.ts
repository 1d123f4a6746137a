import { Prisma } from '#database';
import type { AttemptState } from '../moves.js';
import type { Statements } from '../statements.js';

type Reading = Pick<Statements, '$queryRaw'>;

/** Until when the first document of this device must be at the tax authority; null where none is on its way. `device`: its id, in SQL. */
export function firstOfdDeadline(device: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT min(r.ofd_deadline_at) FROM receipts r WHERE r.device_id = ${device} AND r.ofd_status = 'pending')`;
}

/** What still needs this device: receipts in its lane, and those of which it may have a registration. */
export async function findUnfinished(
  database: Reading,
  deviceId: string,
): Promise<{ accepted: boolean; unsettled: boolean }> {
  const [found] = await database.$queryRaw<{ accepted: boolean; unsettled: boolean }[]>`
    SELECT EXISTS (SELECT FROM receipts WHERE device_id = ${deviceId} AND status = 'accepted') AS accepted,
           EXISTS (SELECT FROM attempts a JOIN receipts r ON r.id = a.receipt_id
                    WHERE a.device_id = ${deviceId} AND a.state IN ('open', 'unknown')
                      AND r.status IN ('sending', 'unknown')) AS unsettled`;
  if (!found) throw new Error('the database returned no row');
  return found;
}

/** A receipt gets into the lane of this device as soon as it is paid. It is searched among what is under way of its merchant. */
export async function hasUnpaid(
  database: Reading,
  { merchantId, deviceId }: { merchantId: string; deviceId: string },
): Promise<boolean> {
  const rows = await database.$queryRaw<unknown[]>`
    SELECT 1 FROM receipts
     WHERE merchant_id = ${merchantId} AND device_id = ${deviceId} AND status = 'awaiting_payment' LIMIT 1`;
  return rows.length > 0;
}

export interface AttemptRow {
  id: string;
  receipt_id: string;
  number: number;
  state: AttemptState;
  created_at: Date;
  closed_at: Date | null;
  http_status: number | null;
  relay_id: string;
  outcome: Prisma.JsonValue;
}

/**
 * The HTTP status with which a register answered an attempt, from what was recorded of the answer; NULL: it did not answer.
 * The column of that name is written by no program, and goes with the next change of the table.
 */
export function answeredStatus(attempt: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`coalesce(${attempt}.http_status,
    CASE WHEN jsonb_typeof(${attempt}.outcome #> '{answer,httpStatus}') = 'number'
         THEN (${attempt}.outcome #>> '{answer,httpStatus}')::int END,
    CASE WHEN ${attempt}.state = 'registered' AND ${attempt}.outcome ->> 'evidence' = 'answer' THEN 200 END)`;
}

/** Attempts of a device, the newest first. `afterId`: the last one of the page before. */
export function listAttempts(
  database: Reading,
  deviceId: string,
  { afterId, limit }: { afterId: string | null; limit: number },
): Promise<AttemptRow[]> {
  return database.$queryRaw<AttemptRow[]>`
      SELECT id, receipt_id, number, state::text, created_at, closed_at, ${answeredStatus(Prisma.sql`found`)} AS http_status,
             relay_id, outcome FROM (
        SELECT * FROM attempts WHERE id = lane_open_attempt(${deviceId})
        UNION ALL
        (SELECT * FROM attempts
          WHERE device_id = ${deviceId} AND state <> 'open' AND (${afterId}::text IS NULL OR id < ${afterId})
          ORDER BY id DESC LIMIT ${limit})
      ) AS found WHERE ${afterId}::text IS NULL OR id < ${afterId}
       ORDER BY id DESC LIMIT ${limit}`;
}

/** The sum of the receipt that this attempt was made for; null: the merchant has no such attempt. */
export async function findSumOfAttempt(
  database: Reading,
  merchantId: string,
  attemptId: string,
): Promise<bigint | null> {
  const [row] = await database.$queryRaw<{ total_tiyin: bigint }[]>`
      SELECT r.total_tiyin FROM attempts a JOIN receipts r ON r.id = a.receipt_id
       WHERE a.id = ${attemptId} AND r.merchant_id = ${merchantId}`;
  return row?.total_tiyin ?? null;
}
