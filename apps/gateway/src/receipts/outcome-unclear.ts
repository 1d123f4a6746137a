import { isRefusedByServer } from '#database';
import { Problem } from '#problems';
import { isDatabaseUnavailable, isNotSent } from '#runtime';

const DETAIL =
  'The database did not answer: whether this was stored is not known. Repeat the request with the same Idempotency-Key or ' +
  'external_id; without either, search for the receipt before it is sold again.';

/** The statement has left, and nothing says how it ended: it may have been carried out, or be yet. */
export function isLost(error: unknown): boolean {
  return isDatabaseUnavailable(error) && !isNotSent(error) && !isRefusedByServer(error);
}

/** For a statement that {@link isLost}: "nothing was stored" would make the caller sell again. */
export function outcomeUnclear(cause: unknown): Problem {
  return new Problem('outcome_unclear', DETAIL, { cause });
}
