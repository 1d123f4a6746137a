import { isDatabaseBusy, isDatabaseUnavailable, isShareBusy, isShareSpent } from '#runtime';
import { Problem } from './problem.js';

/** Any thrown value as the problem that the caller sees. What is not recognised is `internal` and says nothing more. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isShareSpent(error)) {
    const detail = 'More calls of yours wait for the database than are kept waiting; nothing was done.';
    return new Problem('too_many_requests', detail, { retryAfterSeconds: 1, cause: error });
  }
  if (isShareBusy(error)) {
    const detail =
      'Other calls of yours hold your share of the connections to the database. This call had begun: whether anything of it was stored is not known.';
    return new Problem('service_unavailable', detail, { retryAfterSeconds: 1, cause: error });
  }
  if (isDatabaseUnavailable(error)) {
    const detail = 'The database cannot be reached or cannot write; nothing is known to have been stored.';
    return new Problem('database_unavailable', detail, { cause: error });
  }
  if (isDatabaseBusy(error)) {
    const detail = 'The database is busy; nothing is known to have been stored.';
    return new Problem('service_unavailable', detail, { cause: error });
  }
  return new Problem('internal', undefined, { cause: error });
}
