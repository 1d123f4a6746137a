import { isUniqueViolation, Prisma } from '#database';
import { receiptMove, type HotStatements } from '../statements.js';
import { registeredParts, type CloseRegistered } from './close.js';
import { intentParts, isHere, type Intent, type Opened } from './open.js';

/**
 * What became of both. `closed: null`: nothing is known of it and nothing was changed, the result is to be recorded by itself.
 * `opened: null`: no intent was written, for whatever reason; the next receipt is as it was.
 */
export interface ClosedAndOpened {
  closed: 'closed' | 'already_closed' | null;
  opened: Opened | null;
}

const { from: WAITING } = receiptMove('accepted', 'sending', 'relay');
const AFTER_CLOSING = Prisma.raw('EXISTS (SELECT FROM moved) AND r.id IN (SELECT id FROM free)');

/**
 * The result of one receipt and the intent of the next in one statement and one commit: at a crash both are there or neither. The
 * intent depends on the result, never the other way round: a next receipt that may not be sent leaves the result recorded. An
 * attempt that was closed before opens nothing. A result waits for no lock of the next receipt: one that another transaction
 * has (a cancellation) is left as it is.
 */
export async function closeAndOpen(
  database: HotStatements,
  relayId: string,
  { close, next }: { close: CloseRegistered; next: Intent },
  observe: (secondsSinceAccepted: number) => void = () => undefined,
): Promise<ClosedAndOpened> {
  try {
    const [row] = await database.queryHot<{
      seconds: number | null;
      closed: boolean;
      opened: boolean;
      is_here: boolean;
    }>(
      Prisma.sql`
      WITH ${registeredParts(close)}, ${freePart(next)}, ${intentParts(relayId, next, AFTER_CLOSING)}
      SELECT (SELECT seconds FROM moved) AS seconds, EXISTS (SELECT FROM moved) AS closed,
             EXISTS (SELECT FROM opened) AS opened, ${isHere(next)} AS is_here`,
    );
    if (!row?.closed) return { closed: 'already_closed', opened: null };
    if (row.seconds !== null) observe(row.seconds);
    if (row.opened) return { closed: 'closed', opened: 'opened' };
    return { closed: 'closed', opened: row.is_here ? 'withdrawn' : 'lane_not_held' };
  } catch (error) {
    // Rolled back whole. Which of the unique indexes refused it, the result alone will say.
    if (isUniqueViolation(error)) return { closed: null, opened: null };
    throw error;
  }
}

/** The next receipt, locked, unless another transaction has it. */
function freePart({ receiptId }: Intent): Prisma.Sql {
  return Prisma.sql`
    free AS MATERIALIZED (
      SELECT r.id FROM receipts r WHERE r.id = ${receiptId} AND ${WAITING} FOR NO KEY UPDATE SKIP LOCKED
    )`;
}
