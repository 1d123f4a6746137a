import { HOLD_OF_ALL_LANES, Prisma } from '#database';
import { LANE_LOCK_SPACE } from './advisory-lane-locks.js';
import type { LaneGrip } from './ports.js';

/** How long others keep off after the settle time of a relay that may only be late. */
export const SETTLE_GRACE_SECONDS = 10;

export function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

/**
 * The statement runs on the server on which the lane lock was taken, by the start of its postmaster: a relay may reach a
 * promoted standby while its lock session still hangs on the server that is gone.
 */
export function isOnServerOf({ serverStartedAt }: LaneGrip): Prisma.Sql {
  return Prisma.sql`pg_postmaster_start_time() = ${serverStartedAt}::timestamptz`;
}

/**
 * No person holds all lanes (npm run cli -- restore begin), and no restore was announced that no relay has seen yet: a session
 * that was there before the announcement has held nothing.
 */
export const LANES_GO = Prisma.sql`NOT EXISTS (${Prisma.raw(HOLD_OF_ALL_LANES)})`;

/** The lane lock is still this session's, by the database's own word. */
export function isHeld({ backendPid, lockNumber }: LaneGrip): Prisma.Sql {
  return Prisma.sql`
    EXISTS (SELECT FROM pg_locks
             WHERE locktype = 'advisory' AND granted AND pid = ${backendPid}
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
               AND classid = ${LANE_LOCK_SPACE} AND objid = ${lockNumber} AND objsubid = 2)`;
}
