import type { Logger } from './logger.js';

/** From the deadline of what is in hand to the end of the process: for closing connections. */
export const STOP_GRACE_MS = 4_000;

export interface ShutdownOptions {
  logger: Logger;
  /** Stops taking work, waits for what is in hand, closes connections. */
  stop: (signal: NodeJS.Signals) => Promise<unknown>;
  /** After this the process leaves anyway, with exit code 1. */
  timeoutMs: number;
}

/**
 * On the first SIGTERM or SIGINT stops once, bounded in time, and exits. Whatever is cut off by the bound is left as a
 * crash would leave it, and healed by the same means.
 */
export function stopOnSignals({ logger, stop, timeoutMs }: ShutdownOptions): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'stopping');
    const timer = setTimeout(() => {
      logger.error({ timeout_ms: timeoutMs }, 'did not stop in time, leaving');
      process.exit(1);
    }, timeoutMs);
    timer.unref();
    stop(signal).then(
      () => {
        logger.info('stopped');
        process.exit(0);
      },
      (error: unknown) => {
        logger.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
