// Promise: what was found out about a request counts as final when neither what was sent before, nor what may still have been sent after, can change it.
import { CONFIRMED_FOR_MS, finalAfterMs, REPEAT_GUARD_MS } from './final-after.js';

test.each([0, 1_000, 15_000, 120_000])(
  'a repetition that leaves last, and sleeps for a settle time of %d ms, has arrived',
  (settleMs) => {
    const leavesAfterMs = CONFIRMED_FOR_MS + REPEAT_GUARD_MS;
    expect(finalAfterMs(settleMs)).toBeGreaterThanOrEqual(leavesAfterMs + settleMs);
  },
);
