import { encodeTime } from 'ulid';
import type { IdPrefix } from '#fiscal-domain';

/**
 * An id begins with the time at which a gateway made it, `created_at` is the database's: the two may differ by their clocks
 * and by a write that was tried again. Ids narrow a search this far around the times asked for; `created_at` decides.
 */
const ID_SLACK_MS = 5 * 60_000;
/** Largest time that a ULID holds. */
const MAX_ULID_MS = 2 ** 48 - 1;

/** The first id that could be made at a time, the slack before (-1) or after (1) it. */
export function idAt(prefix: IdPrefix, time: Date, direction: -1 | 1): string {
  const ms = Math.min(Math.max(time.getTime() + direction * ID_SLACK_MS, 0), MAX_ULID_MS);
  return `${prefix}_${encodeTime(ms, 10).toLowerCase()}${'0'.repeat(16)}`;
}
