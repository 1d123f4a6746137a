import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, Logger } from '#runtime';
import { FollowedLanes } from './followed-lanes.js';
import type { LaneRunner } from './lane-runner.js';
import type { LaneRepository } from './lane.repository.js';
import { OverdueScan } from './overdue-scan.js';

const SWEEP_EVERY_MS = 1_000;
/** The same after a sweep that found lanes: there are probably more. */
const SWEEP_AGAIN_MS = 200;
/** A lane is the bell's for this long before it counts as forgotten. */
const OVERDUE_MS = 2_000;
/** Between two looks at the lanes that are followed; one statement for all of them, and none while there are none. */
const LOOK_EVERY_MS = 150;

/**
 * Finds lanes whose bell was lost (queue wiped, deaf or absent; crash between commit and ring; a relay that died with an
 * open attempt) and drains them itself, without the queue: dispatch does not depend on Redis. A lane that was found so is
 * followed for a while, so that its next receipts do not wait for a sweep each.
 */
export class Sweeper {
  /** Lanes found so far, for metrics: it should hardly ever rise. */
  found = 0;
  readonly followed: FollowedLanes;
  private readonly scan: OverdueScan;
  private readonly abort = new AbortController();
  private running: Promise<void> | null = null;

  constructor(
    private readonly lanes: LaneRepository,
    private readonly runner: LaneRunner,
    private readonly logger: Logger,
    clock: Clock,
  ) {
    this.followed = new FollowedLanes(() => clock.monotonicMs());
    this.scan = new OverdueScan(lanes, OVERDUE_MS);
  }

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
        const found = await this.sweep();
        await this.lookAfterFollowed((found > 0 ? SWEEP_AGAIN_MS : SWEEP_EVERY_MS) * jitter());
      } catch (error) {
        this.logger.error({ err: error }, 'sweep failed');
        await this.pause(SWEEP_EVERY_MS * jitter());
      }
    }
  }

  /** Until the next sweep. */
  private async lookAfterFollowed(durationMs: number): Promise<void> {
    let leftMs = durationMs;
    while (leftMs > 0 && !this.abort.signal.aborted) {
      const pauseMs = this.followed.size > 0 ? LOOK_EVERY_MS * jitter() : leftMs;
      await this.pause(pauseMs);
      leftMs -= pauseMs;
      const lookedAt = this.followed.toLookAt();
      if (lookedAt.length === 0 || this.runner.freePlaces <= 0) continue;
      for (const deviceId of this.followed.found(await this.lanes.dueAmong(lookedAt))) void this.runner.wake(deviceId);
    }
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.abort.signal, ref: false }).catch(() => 'stopped');
  }

  /** @returns how many lanes it found */
  private async sweep(): Promise<number> {
    const free = this.runner.freePlaces;
    if (free <= 0) return 0;
    const deviceIds = await this.scan.next(free);
    this.found += deviceIds.length;
    // Not awaited: one dead register must not hold up the next sweep.
    for (const deviceId of deviceIds) {
      this.followed.follow(deviceId);
      void this.runner.wake(deviceId);
    }
    return deviceIds.length;
  }
}

/** Relays must not march in step. */
function jitter(): number {
  return 0.75 + Math.random() / 2;
}
