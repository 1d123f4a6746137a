const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
const STEADY_AFTER_MS = 60_000;

/** How long a program that has ended by itself is left before it is started again: longer each time, until one has run for a minute. */
export class RestartPauses {
  /** Ends in a row. */
  ends = 0;

  /** @param {number} ranMs how long it had run */
  next(ranMs) {
    if (ranMs > STEADY_AFTER_MS) this.ends = 0;
    const pauseMs = PAUSES_MS[Math.min(this.ends, PAUSES_MS.length - 1)] ?? 0;
    this.ends += 1;
    return pauseMs;
  }
}
