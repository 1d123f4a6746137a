import { randomFillSync } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory } from 'ulid';
import { prefixOf, type IdPrefix } from '#fiscal-domain';

const POOL_BYTES = 4_096;
const BYTES_PER_NUMBER = 4;

const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** Random numbers in [0, 1) from the system's generator, drawn in bulk: an id takes sixteen of them. */
function random(): number {
  if (used >= POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const number = pool.readUInt32LE(used) / 2 ** 32;
  used += BYTES_PER_NUMBER;
  return number;
}

const nextUlid = monotonicFactory(random);

/**
 * A new id: prefix, `_`, lower-case ULID. Ids made by one process sort in the order in which
 * they were made, also within a millisecond.
 */
export function newId(prefix: string): string {
  return `${prefix}_${nextUlid().toLowerCase()}`;
}

/** A new id of something that belongs to a merchant: one of a sandbox says so. */
export function newIdOf(prefix: IdPrefix, merchantId: string): string {
  return newId(prefixOf(prefix, merchantId));
}

const TIME_CHARACTERS = 10;

/** Before every id of this kind that is made at this moment or later, and after those made before: for reading by time. None is made before 1970. */
export function firstIdAt(prefix: string, at: Date): string {
  return `${prefix}_${encodeTime(Math.max(at.getTime(), 0), TIME_CHARACTERS).toLowerCase()}`;
}

/** When an id of ours was made, by the clock of who made it. @throws Error for what is none */
export function timeOfId(id: string): Date {
  return new Date(decodeTime(id.slice(id.lastIndexOf('_') + 1).toUpperCase()));
}
