const BEAT_MS = 500;
/** Processes have beats of their own: they do not march in step. */
const PHASE_MS = Math.random() * BEAT_MS;
/** A timer may ring a little before its time. */
const EARLY_MS = 20;

/**
 * Milliseconds until the next beat of this process for what is done every so many milliseconds: loops with the same pause wake together, however long
 * their rounds take, and those with a longer one together with some of them.
 */
export function untilBeat(everyMs: number, nowMs = performance.now()): number {
  const beats = Math.max(1, Math.round(everyMs / BEAT_MS));
  const beat = Math.floor((nowMs + EARLY_MS - PHASE_MS) / BEAT_MS);
  const next = (Math.floor(beat / beats) + 1) * beats;
  return next * BEAT_MS + PHASE_MS - nowMs;
}
