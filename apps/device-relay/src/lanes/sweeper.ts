import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#runtime';
import type { LaneRunner } from './lane-runner.js';
import type { LaneRepository } from './lane.repository.js';

const SWEEP_EVERY_MS = 1_000;
/** A lane is the bell's for this long before it counts as forgotten. */
const OVERDUE_MS = 2_000;
const LANES_PER_SWEEP = 200;

/**
 * Finds lanes whose bell was lost (queue wiped, deaf or absent; crash between commit and ring; a relay that died with an
 * open attempt) and drains them itself, without the queue: dispatch does not depend on Redis.
 */
export class Sweeper {
  /** Lanes found so far, for metrics: it should hardly ever rise. */
  found = 0;
  private readonly abort = new AbortController();
  private running: Promise<void> | null = null;

  constructor(
    private readonly lanes: LaneRepository,
    private readonly runner: LaneRunner,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.abort.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.abort;
    while (!signal.aborted) {
      try {
        await this.sweep();
      } catch (error) {
        this.logger.error({ err: error }, 'sweep failed');
      }
      const jitter = 0.75 + Math.random() / 2;
      await delay(SWEEP_EVERY_MS * jitter, undefined, { signal, ref: false }).catch(() => 'stopped');
    }
  }

  private async sweep(): Promise<void> {
    const free = Math.min(this.runner.freePlaces, LANES_PER_SWEEP);
    if (free <= 0) return;
    const deviceIds = await this.lanes.overdueLanes(OVERDUE_MS, free);
    this.found += deviceIds.length;
    // Not awaited: one dead register must not hold up the next sweep.
    for (const deviceId of deviceIds) void this.runner.wake(deviceId);
  }
}
