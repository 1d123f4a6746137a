const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How long after each failed try the next one comes; the first is made at once. Together more than three days. */
export const RETRY_DELAYS_MS: readonly number[] = [
  ...[5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];

/** An endpoint at which nothing has succeeded for so long is disabled. */
export const GIVE_UP_AFTER_SECONDS = 5 * 24 * 3_600;

const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;
/** Receivers that failed together must not come back together. */
const JITTER = 0.2;
const FIRST_PAUSE_MS = 5 * SECOND_MS;
const LONGEST_PAUSE_MS = 5 * MINUTE_MS;

/**
 * @param failed tries that have failed, this one included
 * @param retryAfterMs what the receiver asked for; null = nothing
 * @param random in [0, 1)
 * @param delays after each failed try
 * @returns milliseconds to the next try; null = that was the last one
 */
export function retryDelayMs(
  failed: number,
  retryAfterMs: number | null,
  random: number,
  delays: readonly number[] = RETRY_DELAYS_MS,
): number | null {
  const delay = delays[failed - 1];
  if (delay === undefined) return null;
  return Math.round(Math.max(delay, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)) * (1 + JITTER * random));
}

/** How long a receiver that failed is left alone, whatever is due for it: doubling from 5 s to 5 min. */
export function pauseMs(failures: number, random: number): number {
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE_MS);
  return Math.round(pause * (1 + JITTER * random));
}

/** `Retry-After` in seconds or as an HTTP date; null for what is neither. */
export function readRetryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND_MS;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(at - nowMs, 0);
}
