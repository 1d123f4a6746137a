/** The longest that a timer can be set to, 24 days; one that is set to more rings at once. */
const LONGEST_MS = 2 ** 31 - 1;

function ring(after: () => void, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(after, Math.min(ms, LONGEST_MS));
}

/** Waits; an aborted wait rejects with the signal's reason. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const time = new Promise<void>((resolve) => {
    timer = ring(resolve, ms);
  });
  return unlessAborted(time, signal).finally(() => clearTimeout(timer));
}

/** The result of work that others share: only this caller's waiting ends with the signal. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export interface Limit {
  signal: AbortSignal;
  /** Whether the time was up, and not the caller's signal. */
  isTimedOut: () => boolean;
  /** Ends the deadline alone: a body that is read later still ends with the caller's signal. */
  stopTimer: () => void;
  release: () => void;
}

/** One signal of the caller's and a deadline. AbortSignal.any would need a newer runtime, and keeps timers running. */
export function limitedTo(ms: number, signal: AbortSignal | undefined): Limit {
  const controller = new AbortController();
  let isTimedOut = false;
  const timer = ring(() => {
    isTimedOut = true;
    controller.abort();
  }, ms);
  // As the platform does: with what the caller gave as the reason, usually an error.
  const onAbort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort);
  return {
    signal: controller.signal,
    isTimedOut: () => isTimedOut,
    stopTimer: () => clearTimeout(timer),
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}
