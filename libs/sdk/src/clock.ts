/** Waits; an aborted wait rejects with the signal's reason. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The result of work that others share: only this caller's waiting ends with the signal. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  if (signal.aborted) throw reasonOf(signal);
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(reasonOf(signal));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
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
  const timer = setTimeout(() => {
    isTimedOut = true;
    controller.abort();
  }, ms);
  const onAbort = (): void => controller.abort(reasonOf(signal));
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
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

/** As the platform does: whatever the caller gave as the reason, usually an error. */
function reasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason as Error;
}
