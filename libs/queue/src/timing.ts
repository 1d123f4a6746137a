/** The wait ended before the promise did; what the promise would still bring is not waited for. */
export class TimedOutError extends Error {
  readonly code = 'TIMED_OUT';
}

/**
 * Waits for a promise, but never longer than `timeoutMs`, nor once `stop` is aborted. A later rejection of the promise
 * is swallowed by the race and cannot become an unhandled one.
 *
 * @throws TimedOutError, or whatever the promise rejects with
 */
export async function within<T>(promise: Promise<T>, timeoutMs: number, what: string, stop?: AbortSignal): Promise<T> {
  let giveUp = (): void => undefined;
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(new TimedOutError(`${what}: given up`));
    timer = setTimeout(() => reject(new TimedOutError(`${what} took longer than ${timeoutMs} ms`)), timeoutMs);
  });
  stop?.addEventListener('abort', giveUp);
  if (stop?.aborted === true) giveUp();
  try {
    return await Promise.race([promise, ended]);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener('abort', giveUp);
  }
}

/** A pause that another call may cut short, though never below `atLeastMs`. A cut made before it begins counts too. */
export class Pause {
  private cutShort = false;
  private wake: (() => void) | null = null;

  async sleep(durationMs: number, atLeastMs = 0): Promise<void> {
    if (atLeastMs > 0) await new Promise((resolve) => setTimeout(resolve, atLeastMs));
    if (!this.cutShort) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, durationMs - atLeastMs);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.wake = null;
    this.cutShort = false;
  }

  cut(): void {
    this.cutShort = true;
    this.wake?.();
  }
}
