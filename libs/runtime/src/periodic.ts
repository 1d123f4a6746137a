import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from './logger.js';

export interface PeriodicWork {
  /** For the log. */
  name: string;
  everyMs: number;
  /** Before the first round; 0 unless given. */
  startsAfterMs?: number;
  /** @returns true: there is more to do at once */
  run: () => Promise<unknown>;
}

/** Does something again and again, spread by ±25 %, so that programs do not march in step. What fails is tried again. */
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
    const { startsAfterMs = 0, everyMs } = this.work;
    if (startsAfterMs > 0) await this.pause(startsAfterMs);
    while (!signal.aborted) {
      const hasMore = await this.round();
      await this.pause(hasMore ? 0 : everyMs);
    }
  }

  private async round(): Promise<boolean> {
    try {
      return (await this.work.run()) === true;
    } catch (error) {
      this.logger.warn({ err: error }, `${this.work.name} failed; it is tried again`);
      return false;
    }
  }

  private async pause(ms: number): Promise<void> {
    const jitter = 0.75 + Math.random() / 2;
    await delay(ms * jitter, undefined, { signal: this.abort.signal, ref: false }).catch(() => 'stopped');
  }
}
