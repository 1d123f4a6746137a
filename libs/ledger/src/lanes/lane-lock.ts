import { HOLD_OF_ALL_LANES, Prisma } from '#database';

/** Space of the advisory locks of lanes; the number in it is `lanes.lock_number` (docs/adr/0002-lane-lock.md). */
export const LANE_LOCK_SPACE = 0x4c41; // "LA"

/** The lock of a lane as one session holds it. */
export interface LaneLock {
  readonly lockNumber: number;
  /** Server process that holds it, as pg_locks shows it. */
  readonly backendPid: number;
  /** When the server was started that holds it: another one, such as a promoted standby, does not know the lock. */
  readonly serverStartedAt: string;
}

/**
 * No person holds all lanes (npm run cli -- restore begin), and no restore was announced that no relay has seen yet: a session
 * that was there before the announcement has held nothing.
 */
export const LANES_GO = Prisma.sql`NOT EXISTS (${Prisma.raw(HOLD_OF_ALL_LANES)})`;

/** The lane lock is still this session's, by the database's own word. */
export function isHeld({ backendPid, lockNumber }: LaneLock): Prisma.Sql {
  return Prisma.sql`
    EXISTS (SELECT FROM pg_locks
             WHERE locktype = 'advisory' AND granted AND pid = ${backendPid}
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
               AND classid = ${LANE_LOCK_SPACE} AND objid = ${lockNumber} AND objsubid = 2)`;
}
