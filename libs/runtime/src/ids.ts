import { monotonicFactory } from 'ulid';

const nextUlid = monotonicFactory();

/**
 * A new id: prefix, `_`, lower-case ULID (contract.md "Values"). Ids made by one process sort in the order in which
 * they were made, also within a millisecond.
 */
export function newId(prefix: string): string {
  return `${prefix}_${nextUlid().toLowerCase()}`;
}
