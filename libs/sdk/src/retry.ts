export interface RetryOptions {
  /** Tries in all, the first one included. 1 = no retries. */
  attempts: number;
  /** The first pause is drawn from 0 to this; the range doubles with each try. */
  baseMs: number;
  /** No range is wider than this. A longer `Retry-After` is kept all the same. */
  maxMs: number;
  /** After this much time no further try begins. */
  maxElapsedMs: number;
}

export const DEFAULT_RETRY: RetryOptions = { attempts: 8, baseMs: 250, maxMs: 10_000, maxElapsedMs: 90_000 };

/** Why an attempt brought no result. */
export type Failure =
  /** No complete answer: it may have been done. */
  | { kind: 'no_answer' }
  | {
      kind: 'refused';
      status: number;
      /** Null where the answer is no problem document. */
      problem: { code: string; retryable: boolean } | null;
      retryAfterMs: number | null;
    };

/** What proxies say when the server behind them is away. */
const AWAY = new Set([408, 425, 500, 502, 503, 504]);

/**
 * Whether the same call may be made again.
 * @param isRepeatable twice has the effect of once: reads, and writes under a key or an id of the caller's
 */
export function mayRetry(failure: Failure, isRepeatable: boolean): boolean {
  if (failure.kind === 'no_answer') return isRepeatable;
  const { status, problem } = failure;
  // Refused before anything was done.
  if (status === 429) return true;
  if (!isRepeatable) return false;
  // A proxy in between sent the request twice; the key makes the repeat harmless.
  if (problem?.code === 'nonce_replayed') return true;
  // Other conflicts last until something else changes.
  if (status === 409) return problem?.code === 'idempotency_in_progress';
  return problem?.retryable ?? AWAY.has(status);
}

/**
 * Full jitter: callers who failed together do not come back together. After `Retry-After` the jitter comes on top of it.
 * @param attempt the one that failed, from 1
 * @param draw from 0 to 1
 */
export function pauseMs(
  { baseMs, maxMs }: RetryOptions,
  attempt: number,
  retryAfterMs: number | null,
  draw: () => number = Math.random,
): number {
  const range = Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  return Math.round((retryAfterMs ?? 0) + draw() * range);
}

/** Seconds or a date (RFC 9110 §10.2.3); null when it is neither. */
export function parseRetryAfter(value: string | null, nowMs: number = Date.now()): number | null {
  if (value === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
