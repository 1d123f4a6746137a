import { setTimeout as delay } from 'node:timers/promises';

const DEADLINE_MS = 90_000;
const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 500;
/** Of the time that has been waited: what is late is late by a tenth at most. */
const SHARE = 0.1;

/**
 * Polls until the value is as wanted, the more rarely the longer it takes: a question costs the processor that the answer waits for. The
 * deadline is generous, so that no test depends on the machine's speed.
 */
export async function until<T>(
  what: string | (() => string),
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const begun = performance.now();
  for (;;) {
    const value = await read();
    if (isWanted(value)) return value;
    const waitedMs = performance.now() - begun;
    if (waitedMs > deadlineMs) {
      const awaited = typeof what === 'string' ? what : what();
      throw new Error(`waited in vain until ${awaited}; last: ${JSON.stringify(value)}`);
    }
    await delay(Math.min(Math.max(FIRST_POLL_MS, waitedMs * SHARE), LAST_POLL_MS));
  }
}

/** The same of a condition, which describes itself by its source unless it is described. */
export async function untilTrue(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string) = String(condition),
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  await until(what, condition, Boolean, deadlineMs);
}
