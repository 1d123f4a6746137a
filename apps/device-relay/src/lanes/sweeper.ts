import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, Logger } from '#runtime';
import { FollowedLanes } from './followed-lanes.js';
import type { LaneMerchants } from './lane-merchants.js';
import type { LaneRunner } from './lane-runner.js';
import type { LaneRepository } from './lane.repository.js';
import { OverdueScan } from './overdue-scan.js';

const SWEEP_EVERY_MS = 1_000;
/** The same after a sweep that found lanes: there are probably more. */
const SWEEP_AGAIN_MS = 200;
/** A lane is the bell's for this long before it counts as forgotten. */
const OVERDUE_MS = 2_000;
/** Overdue lanes of one sweep; those that their merchants have no capacity for come in a later round. */
const LANES_PER_SWEEP = 2_000;
/** Between two polls of the lanes that are followed; one statement for all of them, and none while there are none. */
const POLL_EVERY_MS = 150;

/**
 * Finds lanes whose bell was lost (queue wiped, deaf or absent; crash between commit and ring; a relay that died with an
 * open attempt) and drains them itself, without the queue: dispatch does not depend on Redis. A lane that was found so is
 * followed for a while, so that its next receipts do not wait for a sweep each. It reads on while all places are taken, and takes of
 * each merchant only as many as that one has capacity for: the lanes of others may stand behind thousands of one merchant.
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
    private readonly merchants: LaneMerchants,
    private readonly runner: LaneRunner,
    clock: Clock,
    private readonly random: () => number,
    private readonly logger: Logger,
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
        await this.pollFollowed((found > 0 ? SWEEP_AGAIN_MS : SWEEP_EVERY_MS) * jitter());
      } catch (error) {
        this.logger.error({ err: error }, 'sweep failed');
        await this.pause(SWEEP_EVERY_MS * jitter());
      }
    }
  }

  /** Until the next sweep. */
  private async pollFollowed(durationMs: number): Promise<void> {
    let leftMs = durationMs;
    while (leftMs > 0 && !this.abort.signal.aborted) {
      const pauseMs = this.followed.size > 0 ? POLL_EVERY_MS * jitter() : leftMs;
      await this.pause(pauseMs);
      leftMs -= pauseMs;
      const polled = this.followed.toPoll().filter((deviceId) => !this.runner.isInHand(deviceId));
      if (polled.length === 0) continue;
      for (const deviceId of this.followed.found(await this.lanes.dueAmong(polled))) void this.runner.wake(deviceId);
    }
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.abort.signal, ref: false }).catch(() => 'stopped');
  }

  /** @returns how many lanes it found */
  private async sweep(): Promise<number> {
    const taken = await this.withinCapacity(await this.scan.next(LANES_PER_SWEEP));
    this.found += taken.length;
    // Not awaited: one dead register must not hold up the next sweep.
    for (const { deviceId, merchantId } of taken) {
      this.followed.follow(deviceId, merchantId);
      void this.runner.wake(deviceId);
    }
    return taken.length;
  }

  /** From a random one on, so that no lane of a merchant always stands behind the others of it. */
  private async withinCapacity(deviceIds: readonly string[]): Promise<{ deviceId: string; merchantId: string }[]> {
    const start = Math.floor(this.random() * deviceIds.length);
    const fresh = [...deviceIds.slice(start), ...deviceIds.slice(0, start)].filter((id) => !this.runner.isInHand(id));
    const owned = await Promise.all(
      fresh.map(async (deviceId) => ({ deviceId, merchantId: await this.merchants.of(deviceId) })),
    );
    const capacity = new Map<string, number>();
    return owned.filter((lane): lane is { deviceId: string; merchantId: string } => {
      if (lane.merchantId === null) return false;
      const left = capacity.get(lane.merchantId) ?? this.runner.capacityOf(lane.merchantId);
      capacity.set(lane.merchantId, left - 1);
      return left > 0;
    });
  }
}

/** Relays must not march in step. */
function jitter(): number {
  return 0.75 + Math.random() / 2;
}
