/**
 * The one table of jobs that producer and worker share. A job holds ids and nothing else: what it is about is read
 * again from PostgreSQL, so losing, repeating or delaying a job can never change a receipt.
 */

/** Name of the BullMQ queue on either back end. */
export const LANE_QUEUE_NAME = 'device-lane';

/** Payload of a wake-up: read this device's lane. */
export interface LaneJob {
  deviceId: string;
}

/** Job name → payload. A new job is a new line here; every process then refuses to start until it has a handler. */
export interface LaneJobTable {
  'drain-lane': LaneJob;
}

export type LaneJobName = keyof LaneJobTable;

/** The names at run time; `satisfies` keeps the list and the table in step in both directions. */
const NAMES = { 'drain-lane': true } satisfies Record<LaneJobName, true>;

export const LANE_JOB_NAMES: readonly string[] = Object.keys(NAMES);

export type LaneJobHandlers = { [Name in LaneJobName]: (job: LaneJobTable[Name]) => Promise<void> };

/**
 * The check at start that style rule 7 asks for: types cannot see a table that was built from plain JavaScript or a
 * worker that is older than the producer.
 *
 * @throws Error naming every job without a handler
 */
export function assertEveryJobHasHandler(handlers: Partial<Record<string, unknown>>): void {
  const missing = LANE_JOB_NAMES.filter((name) => typeof handlers[name] !== 'function');
  if (missing.length > 0) {
    throw new Error(`No handler for the queue job ${missing.join(', ')}: this process must not take jobs.`);
  }
}

/** The device a job speaks of, or null when the job is not one of ours (another version's, or a hand-made one). */
export function deviceIdOf(data: unknown): string | null {
  if (typeof data !== 'object' || data === null || !('deviceId' in data)) return null;
  return typeof data.deviceId === 'string' && data.deviceId !== '' ? data.deviceId : null;
}
