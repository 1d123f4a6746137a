import { setTimeout as delay } from 'node:timers/promises';

const DEADLINE_MS = 90_000;
const POLL_MS = 50;

/** Polls until the value is as wanted; the deadline is generous, so that no test depends on the machine's speed. */
export async function until<T>(
  what: string | (() => string),
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const value = await read();
    if (isWanted(value)) return value;
    if (performance.now() > deadline) {
      const awaited = typeof what === 'string' ? what : what();
      throw new Error(`waited in vain until ${awaited}; last: ${JSON.stringify(value)}`);
    }
    await delay(POLL_MS);
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
