import { isUniqueViolation, Prisma } from '#database';
import type { Baseline } from '#fiscal-domain';
import { receiptEvents } from '../events.js';
import { isOnServerOf, LANES_GO, type LaneLock } from '../lanes/lane-lock.js';
import { receiptMove, type HotStatements } from '../statements.js';
import { isNotHeldElsewhere } from '../terminal-claims.js';

/** The write-ahead intent. */
export interface Intent {
  attemptId: string;
  receiptId: string;
  deviceId: string;
  baseline: Baseline;
  request: Buffer;
  laneLock: LaneLock;
}

export type Opened = 'opened' | 'withdrawn' | 'lane_occupied' | 'lane_not_held';

const SENDING = receiptMove('accepted', 'sending', 'relay');
const CANCELLED = receiptMove('accepted', 'cancelled', 'relay');
const HELD = Prisma.raw('held');
const MERCHANT = Prisma.raw('r.merchant_id');
const ALWAYS = Prisma.raw('true');

/**
 * Receipt `accepted → sending` with the attempt that says so, in one statement.
 *
 * Withdrawn: it may not be sent any more. A hold that has run out, and a refund whose module is no longer the one in this
 * register (only the one that sold can take it back), become `cancelled` here and now. A terminal that was moved to
 * another merchant since it was read is not sent to: the lane reads the device anew, and stops.
 */
export async function openAttempt(database: HotStatements, relayId: string, intent: Intent): Promise<Opened> {
  const parts = intentParts(relayId, intent);
  try {
    const [opened] = await database.queryHot<{ opened: boolean; is_here: boolean }>(Prisma.sql`
      WITH ${parts}
      SELECT EXISTS (SELECT FROM opened) AS opened, ${isHere(intent)} AS is_here`);
    if (opened?.opened) return 'opened';
    return opened?.is_here ? 'withdrawn' : 'lane_not_held';
  } catch (error) {
    // attempts_one_open_per_device: the statement was rolled back whole, the receipt is still accepted.
    if (isUniqueViolation(error)) return 'lane_occupied';
    throw error;
  }
}

/** This is the server on which the lane is held, and no person holds all lanes. */
export function isHere({ laneLock }: Intent): Prisma.Sql {
  return Prisma.sql`(${isOnServerOf(laneLock)} AND ${LANES_GO})`;
}

/**
 * Parts of a statement: the receipt is `taken` and its attempt `opened`, or it is `held` back for good and that is noted.
 * @param only a further condition of both, after AND
 */
export function intentParts(relayId: string, intent: Intent, only: Prisma.Sql = ALWAYS): Prisma.Sql {
  const { terminalId } = intent.baseline;
  const here = Prisma.sql`${isHere(intent)} AND ${only}`;
  const misplaced = Prisma.sql`
    (r.type = 'refund' AND ${terminalId}::text IS NOT NULL
     AND coalesce(r.document #>> '{refundInfo,terminalId}', ${terminalId}) <> ${terminalId})`;
  const why = Prisma.sql`
    jsonb_build_object('receipt_id', id, 'reason', CASE WHEN dispatch_before <= now()
      THEN 'the payment hold ran out' ELSE 'the fiscal module that sold is no longer in this register' END)`;
  return Prisma.sql`
      taken AS (
        UPDATE receipts r SET ${SENDING.set}
         WHERE r.id = ${intent.receiptId} AND r.device_id = ${intent.deviceId} AND ${SENDING.from} AND ${here}
           AND (r.dispatch_before IS NULL OR r.dispatch_before > now()) AND NOT ${misplaced}
           AND ${isNotHeldElsewhere(terminalId, MERCHANT)}
           AND r.lane_place <= (SELECT first.lane_place FROM lane_waiting(${intent.deviceId}, 1) first)
        RETURNING r.id
      ), held AS (
        UPDATE receipts r SET ${CANCELLED.set}
         WHERE r.id = ${intent.receiptId} AND r.device_id = ${intent.deviceId} AND ${CANCELLED.from} AND ${here}
           AND (r.dispatch_before <= now() OR ${misplaced})
        RETURNING r.id, r.merchant_id, r.type, r.dispatch_before
      ), held_noted AS (${receiptEvents('cancelled', why, { from: HELD })}
      ), opened AS (
        INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
        SELECT ${intent.attemptId}, id, ${intent.deviceId},
               1 + (SELECT coalesce(max(number), 0) FROM attempts a WHERE a.receipt_id = taken.id),
               'open', ${JSON.stringify(intent.baseline)}::jsonb, ${intent.request}, ${relayId}
          FROM taken
        RETURNING id
      )`;
}
