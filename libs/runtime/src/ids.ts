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

/** A clock that is behind the newest id by more was set back; by less, ids wait for it in the order of making. */
const SET_BACK_MS = 5_000;

/**
 * ULIDs in the order of making. Once the clock was set back they are of its time again: else one moment of a clock that is ahead would date
 * all that follow, and lists by time, which narrow by ids first, would hide them.
 */
export function ulidsBy(now: () => number): () => string {
  let next = monotonicFactory(random);
  let newestMs = 0;
  return () => {
    const nowMs = now();
    if (nowMs < newestMs - SET_BACK_MS) {
      next = monotonicFactory(random);
      newestMs = nowMs;
    }
    newestMs = Math.max(newestMs, nowMs);
    return next(nowMs);
  };
}

const nextUlid = ulidsBy(() => Date.now());

/**
 * A new id: prefix, `_`, lower-case ULID. Ids made by one process sort in the order in which they were made, also within a
 * millisecond, but for those before and after a clock was set back by more than a few seconds. No reader relies on it across that step, as none
 * does between processes, whose clocks differ: lanes, attempts and events have numbers of their own (`lane_place`, `number`, `position`), and
 * a cursor stays where it is, so that what is made later stands on a page by its id.
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
