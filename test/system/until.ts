import { setTimeout as delay } from 'node:timers/promises';

/** Polls until the value is as wanted; the deadline is generous, so that no test depends on the machine's speed. */
export async function until<T>(
  what: string,
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean,
  deadlineMs = 90_000,
): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const value = await read();
    if (isWanted(value)) return value;
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}; last: ${JSON.stringify(value)}`);
    await delay(50);
  }
}
