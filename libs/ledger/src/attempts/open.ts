import { isUniqueViolation, Prisma } from '#database';
import type { Baseline } from '#fiscal-domain';
import { receiptEvents } from '../events.js';
import { withinHalfYears } from '../half-years.js';
import { LANES_GO, type LaneLock } from '../lanes/lane-lock.js';
import { receiptMove, type HotStatements } from '../statements.js';
import { isNotHeldElsewhere } from '../terminal-claims.js';
import { givenOne } from './given.js';

/** The write-ahead intent. */
export interface Intent {
  attemptId: string;
  receiptId: string;
  deviceId: string;
  baseline: Baseline;
  request: Buffer;
  laneLock: LaneLock;
  /** An earlier sending may have left it in this very register, which knows its key: only it can say. Absent: none may. */
  mayBeThere?: boolean;
}

export type Opened = 'opened' | 'withdrawn' | 'lane_occupied' | 'lane_not_held';

const SENDING = receiptMove('accepted', 'sending', 'relay');
const CANCELLED = receiptMove('accepted', 'cancelled', 'relay');
const MERCHANT = Prisma.raw('r.merchant_id');
const TERMINAL = Prisma.raw('g.next_terminal_id');

/**
 * Receipt `accepted → sending` with the attempt that says so, in one statement.
 *
 * Withdrawn: it may not be sent any more. A hold that has run out, and a refund whose module is no longer the one in this
 * register (only the one that sold can take it back), become `cancelled` here and now; but not for its hold what may be registered there
 * already: under its key it is found, or made and refunded. A terminal that was moved to
 * another merchant since it was read is not sent to: the lane reads the device anew, and stops.
 */
export async function openAttempt(database: HotStatements, relayId: string, intent: Intent): Promise<Opened> {
  try {
    const [row] = await database.queryHot<{ opened: boolean; is_here: boolean }>(Prisma.sql`
      WITH ${givenOne({ close: null, next: intent })}, ${intentParts(relayId, withinHalfYears([intent.receiptId]))}
      SELECT EXISTS (SELECT FROM opened) AS opened, ${IS_HERE} AS is_here FROM given g`);
    if (row?.opened) return 'opened';
    return row?.is_here ? 'withdrawn' : 'lane_not_held';
  } catch (error) {
    // attempts_one_open_per_device: the statement was rolled back whole, the receipt is still accepted.
    if (isUniqueViolation(error)) return 'lane_occupied';
    throw error;
  }
}

/**
 * Of what is `given`: this is the server on which the lane is held, by the start of its postmaster, and no person holds all lanes. A relay
 * may reach a promoted standby while its lock session still hangs on the server that is gone.
 */
export const IS_HERE = Prisma.sql`(pg_postmaster_start_time() = g.server_started AND ${LANES_GO})`;

const MISPLACED = Prisma.raw(`
    (r.type = 'refund' AND g.next_terminal_id IS NOT NULL
     AND coalesce(r.document #>> '{refundInfo,terminalId}', g.next_terminal_id) <> g.next_terminal_id)`);
const HELD_TOO_LONG = Prisma.raw('(r.dispatch_before <= now() AND NOT g.may_be_there)');
const WHY_HELD = Prisma.raw(`
    jsonb_build_object('receipt_id', id, 'reason', CASE WHEN dispatch_before <= now()
      THEN 'the payment hold ran out' ELSE 'the fiscal module that sold is no longer in this register' END)`);

/** Where an intent comes with a result: what it is joined with, and on which further condition. */
interface After {
  join: Prisma.Sql;
  only: Prisma.Sql;
}

const NOTHING: After = { join: Prisma.empty, only: Prisma.empty };

/**
 * Parts of a statement, of each intent that is `given`: the receipt is `taken` and its attempt `opened`, or it is `held` back for good
 * and that is noted.
 * @param within the half-years of the receipts, behind another condition
 */
export function intentParts(relayId: string, within: Prisma.Sql, { join, only }: After = NOTHING): Prisma.Sql {
  const theOne = Prisma.sql`
    r.id = g.next_receipt_id ${within} AND r.device_id = g.device_id AND ${SENDING.from} AND ${IS_HERE} ${only}`;
  return Prisma.sql`
      taken AS (
        UPDATE receipts r SET ${SENDING.set}
          FROM given g ${join}
         WHERE ${theOne} AND ${HELD_TOO_LONG} IS NOT TRUE AND NOT ${MISPLACED}
           AND ${isNotHeldElsewhere(TERMINAL, MERCHANT)}
           AND r.lane_place <= (SELECT first.lane_place FROM lane_waiting(g.device_id, 1) first)
        RETURNING r.id, g.number
      ), held AS (
        UPDATE receipts r SET ${CANCELLED.set}
          FROM given g ${join}
         WHERE ${theOne} AND (${HELD_TOO_LONG} OR ${MISPLACED})
        RETURNING r.id, r.merchant_id, r.type, r.dispatch_before, g.held_event_id
      ), held_noted AS (${receiptEvents('cancelled', WHY_HELD, { id: Prisma.raw('held_event_id'), from: Prisma.raw('held') })}
      ), opened AS (
        INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
        SELECT g.next_attempt_id, taken.id, g.device_id, next_attempt_number(taken.id), 'open', g.next_baseline, g.request, ${relayId}
          FROM taken JOIN given g USING (number)
        RETURNING id
      )`;
}
