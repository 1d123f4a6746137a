import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#runtime';

export interface PeriodicWork {
  /** For the log. */
  name: string;
  everyMs: number;
  /** True: there is more to do at once. */
  run: () => Promise<boolean>;
}

/** Does something again and again, spread by ±25 %, so that relays do not march in step. What fails is tried again. */
export class Periodic {
  private readonly abort = new AbortController();
  private running: Promise<void> | null = null;

  constructor(
    private readonly work: PeriodicWork,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running ??= this.repeat();
  }

  /** Waits for the round under way. */
  async stop(): Promise<void> {
    this.abort.abort();
    await this.running;
  }

  private async repeat(): Promise<void> {
    const { signal } = this.abort;
    while (!signal.aborted) {
      let more = false;
      try {
        more = await this.work.run();
      } catch (error) {
        this.logger.warn({ err: error }, `${this.work.name} failed; tried again soon`);
      }
      const jitter = 0.75 + Math.random() / 2;
      const pauseMs = more ? 0 : this.work.everyMs * jitter;
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => 'stopped');
    }
  }
}
