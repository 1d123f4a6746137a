/** Time as a dependency, so that tests can own it. */
export interface Clock {
  /** Wall clock. May jump. */
  now(): Date;
  /** Milliseconds that never go back; only differences mean something. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};
