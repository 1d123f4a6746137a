import { isUniqueViolation, Prisma } from '#database';
import { withinHalfYears } from '../half-years.js';
import { receiptMove, type HotStatements } from '../statements.js';
import { registeredParts, type CloseRegistered } from './close.js';
import { givenMany, givenOne, type LaneEntry } from './given.js';
import { intentParts, IS_HERE, type Intent, type Opened } from './open.js';

/**
 * What became of both. `closed: null`: nothing is known of it and nothing was changed, the result is to be recorded by itself.
 * `opened: null`: no intent was written, for whatever reason; the next receipt is as it was.
 */
export interface ClosedAndOpened {
  closed: 'closed' | 'already_closed' | null;
  opened: Opened | null;
}

/** The same of one entry among others. */
export interface Entered extends ClosedAndOpened {
  /** Since the receipt was accepted that was closed; null: it was not, had waited for a payment, or is a sandbox's. */
  seconds: number | null;
}

interface EnteredRow {
  number: number;
  seconds: number | null;
  closed: boolean;
  opened: boolean;
  is_here: boolean | null;
}

const { from: WAITING } = receiptMove('accepted', 'sending', 'relay');
const AFTER_RESULT = {
  join: Prisma.raw('LEFT JOIN moved m ON m.number = g.number'),
  only: Prisma.raw('AND (g.attempt_id IS NULL OR m.id IS NOT NULL) AND r.id IN (SELECT id FROM free)'),
};
/** The next receipt, locked, unless another transaction has it. */
const freeOf = (within: Prisma.Sql): Prisma.Sql => Prisma.sql`
    free AS MATERIALIZED (
      SELECT r.id FROM given g JOIN receipts r ON r.id = g.next_receipt_id ${within} WHERE ${WAITING} FOR NO KEY UPDATE OF r SKIP LOCKED
    )`;
const ENTERED = Prisma.sql`
    SELECT g.number, m.seconds, m.id IS NOT NULL AS closed, o.id IS NOT NULL AS opened, ${IS_HERE} AS is_here
      FROM given g LEFT JOIN moved m ON m.number = g.number LEFT JOIN opened o ON o.id = g.next_attempt_id`;

/**
 * The result of one receipt and the intent of the next in one statement and one commit: at a crash both are there or neither. The
 * intent depends on the result, never the other way round: a next receipt that may not be sent leaves the result recorded. An
 * attempt that was closed before opens nothing. A result waits for no lock of the next receipt: one that another transaction
 * has (a cancellation) is left as it is.
 */
export async function closeAndOpen(
  database: HotStatements,
  relayId: string,
  pair: { close: CloseRegistered; next: Intent },
  observe: (secondsSinceAccepted: number) => void = () => undefined,
): Promise<ClosedAndOpened> {
  try {
    const [row] = await database.queryHot<EnteredRow>(Prisma.sql`
      WITH ${givenOne(pair)}, ${entryParts(relayId, [pair])} ${ENTERED}`);
    const { seconds, closed, opened } = enteredOf(pair, row);
    if (seconds !== null) observe(seconds);
    return { closed, opened };
  } catch (error) {
    // Rolled back whole. Which of the unique indexes refused it, the result alone will say.
    if (isUniqueViolation(error)) return { closed: null, opened: null };
    throw error;
  }
}

/**
 * Entries of several lanes in one statement and one commit, each as `closeAndOpen` has it; one lane's entry depends on no other's, but
 * what the database refuses of one it refuses of all. A row that another transaction has locked is waited for a tenth of a second, then
 * it is refused so.
 *
 * @returns in their order; where an entry is only an intent, no other answer than `opened` says why it was not written
 */
export async function enterTogether(
  database: HotStatements,
  relayId: string,
  entries: readonly LaneEntry[],
): Promise<Entered[]> {
  const rows = await database.queryHot<EnteredRow>(Prisma.sql`
    WITH ${givenMany(entries)}, ${entryParts(relayId, entries)} ${ENTERED}`);
  const found = new Map(rows.map((row) => [row.number, row]));
  return entries.map((entry, number) => enteredOf(entry, found.get(number)));
}

/** Made for the half-years of all that is given: fewer texts, and no part without bounds. */
function entryParts(relayId: string, entries: readonly LaneEntry[]): Prisma.Sql {
  const receiptIds = entries.flatMap(({ close, next }) => [close?.receiptId ?? null, next?.receiptId ?? null]);
  const within = withinHalfYears(receiptIds);
  return Prisma.sql`${registeredParts(receiptIds)}, ${freeOf(within)}, ${intentParts(relayId, within, AFTER_RESULT)}`;
}

function enteredOf({ close, next }: LaneEntry, row: EnteredRow | undefined): Entered {
  if (!row) throw new Error('a lane was not answered');
  if (close && !row.closed) return { closed: 'already_closed', opened: null, seconds: null };
  const notOpened = row.is_here === true ? 'withdrawn' : 'lane_not_held';
  return {
    closed: close ? 'closed' : null,
    opened: next ? (row.opened ? 'opened' : notOpened) : null,
    seconds: row.seconds,
  };
}
