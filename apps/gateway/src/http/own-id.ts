import { isId, type IdPrefix } from '#fiscal-domain';
import { Problem } from '#problems';

/** @throws Problem 404: what has not the form of an id exists as little as an unknown one */
export function ownId(prefix: IdPrefix, id: string, what: string): string {
  if (!isId(prefix, id)) throw notFound(what);
  return id;
}

/** Missing, deleted or another merchant's: the caller does not learn which. */
export function notFound(what: string): Problem {
  return new Problem('not_found', `There is no ${what} with this id.`);
}
