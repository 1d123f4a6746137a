import { isRefusedByServer } from '#database';
import { Problem } from '#problems';
import { isDatabaseUnavailable, isNotSent } from '#runtime';

const DETAIL =
  'The database did not answer: whether this was stored is not known. Repeat the request with the same Idempotency-Key or ' +
  'external_id; without either, search for the receipt before it is sold again.';

const GONE_DETAIL =
  'The database lost what it had stored. Repeat the request with the same Idempotency-Key or external_id; if it was sent to the cash ' +
  'register meanwhile, the register has it as well.';

/** The statement has left, and nothing says how it ended: it may have been carried out, or be yet. */
export function isLost(error: unknown): boolean {
  return isDatabaseUnavailable(error) && !isNotSent(error) && !isRefusedByServer(error);
}

/** For a statement that {@link isLost}: "nothing was stored" would make the caller sell again. */
export function outcomeUnclear(cause: unknown): Problem {
  return new Problem('outcome_unclear', DETAIL, { cause });
}

/**
 * What this call, or one before it, has stored is not there any more: between writing and reading, a standby that did not have it
 * was promoted. The caller has to ask again; a register may have it all the same (docs/backup.md).
 */
export function storedAndGone(what: string): Problem {
  return new Problem('outcome_unclear', GONE_DETAIL, { cause: new Error(`${what} was stored and cannot be read`) });
}
