import { CONFIRMED_FOR_MS, REPEAT_GUARD_MS } from '#fiscal-domain';
import type { Clock } from '#runtime';

/** Pauses after failures that sent nothing, by count; retry as data. */
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000] as const;
/** A blocked register is asked again this often whether its reason is gone. */
export const BLOCKED_RETRY_MS = 15_000;
/** Longest time between the beginning of an intent and the first byte (the send guard of docs/adr/0002-lane-lock.md). */
const SEND_GUARD_MS = 1_000;
const JITTER = 0.2;

/** How long to wait after the nth failure in a row (from 1), spread by ±20 % so that lanes do not march in step. */
export function retryAfterMs(failures: number, random: () => number): number {
  const base = RETRY_MS[Math.min(Math.max(failures, 1), RETRY_MS.length) - 1] ?? 60_000;
  return Math.round(base * (1 - JITTER + 2 * JITTER * random()));
}

/**
 * Says whether a request may still be sent. A process that was paused after its intent, while its database session died
 * and a successor resolved the attempt, must not wake up and send: by the monotonic clock, which a suspended machine may
 * stop, and by the wall clock, which does not stop but may jump back.
 */
export function beginSendGuard(clock: Clock): () => boolean {
  return beginGuard(clock, SEND_GUARD_MS);
}

export function beginRepeatGuard(clock: Clock): () => boolean {
  return beginGuard(clock, REPEAT_GUARD_MS);
}

/**
 * Begun before the session of lane locks is asked, in force once it has answered. A process that stood still does not know yet that its session is gone: a
 * repetition that it begins then would come after a successor has proven that nothing is registered.
 */
export function beginConfirmation(clock: Clock): () => boolean {
  return beginGuard(clock, CONFIRMED_FOR_MS);
}

function beginGuard(clock: Clock, longestMs: number): () => boolean {
  const monotonic = clock.monotonicMs();
  const wall = clock.now().getTime();
  return () => {
    const elapsed = clock.monotonicMs() - monotonic;
    const elapsedOnWall = Math.abs(clock.now().getTime() - wall);
    return elapsed <= longestMs && elapsedOnWall <= longestMs;
  };
}
