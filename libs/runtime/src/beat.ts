const BEAT_MS = 500;
/** Processes have beats of their own: they do not march in step. */
const PHASE_MS = Math.random() * BEAT_MS;

/**
 * Milliseconds until the beat of this process for what is done about every so many (whole half seconds): loops with the same pause wake together, and
 * those with a longer one together with some of them. At least half of the pause: a round that took long is followed by rest.
 */
export function untilBeat(everyMs: number, nowMs = performance.now()): number {
  const pauseMs = Math.max(1, Math.round(everyMs / BEAT_MS)) * BEAT_MS;
  const leastMs = nowMs + pauseMs / 2;
  return Math.ceil((leastMs - PHASE_MS) / pauseMs) * pauseMs + PHASE_MS - nowMs;
}
