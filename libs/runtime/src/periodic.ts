import { setTimeout as delay } from 'node:timers/promises';
import { untilBeat } from './beat.js';
import type { Logger } from './logger.js';

export interface PeriodicWork {
  /** For the log. */
  name: string;
  everyMs: number;
  /** Before the first round; 0 unless given. */
  startsAfterMs?: number;
  /** Rounds begin with those of the other loops of this process that are on its beat: what they ask first is asked together. */
  isOnBeat?: boolean;
  /** @returns true: there is more to do at once */
  run: () => Promise<unknown>;
}

/**
 * Does something again and again, spread by ±25 % or on the process's own beat, so that programs do not march in step. What fails is tried
 * again.
 */
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
    const { startsAfterMs = 0, everyMs, isOnBeat = false } = this.work;
    if (startsAfterMs > 0) await this.pause(spread(startsAfterMs));
    while (!signal.aborted) {
      const hasMore = await this.round();
      if (hasMore) await this.pause(0);
      else await this.pause(isOnBeat ? untilBeat(everyMs) : spread(everyMs));
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
    await delay(ms, undefined, { signal: this.abort.signal, ref: false }).catch(() => 'stopped');
  }
}

/** A provider that does its work again and again while its program runs. */
export abstract class PeriodicProvider {
  private readonly rounds: Periodic;

  protected constructor(work: PeriodicWork, logger: Logger) {
    this.rounds = new Periodic(work, logger);
  }

  onApplicationBootstrap(): void {
    this.rounds.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.rounds.stop();
  }
}

function spread(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}
