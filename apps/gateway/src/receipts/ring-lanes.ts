import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { LaneBell } from '#queue';
import { systemClock, type Clock } from '#runtime';
import { SettledReceipts } from './settled-receipts.js';
import type { WakeLanes } from './wake-lanes.js';

/** A receipt whose end was not notified is no longer waited for after this. */
const HELD_BACK_AT_MOST_MS = 1_000;
const CHECK_EVERY_MS = 250;

/** A lane that was rung for a receipt which still stands in it. */
interface RungLane {
  receiptId: string;
  rungAtMs: number;
  /** The newest receipt that came since then; its ring is held back. */
  next: string | null;
}

/**
 * Rings for accepted receipts, once for all that wait: the relay that takes the receipt that was rung for reads its lane
 * again before it leaves it, so the next ring is held back until that receipt is settled. Under load this is one ring
 * instead of a dozen for every read of a lane, on both sides of the queue (docs/adr/0070-what-accepting-costs.md).
 *
 * Held back, never dropped: the drain's last read may have been before the newer receipt's commit, so its ring follows
 * with the news that the older one is settled, or after a second without news. Without the connection that brings
 * the news nothing is held back. A wake-up goes by notice to a relay that is awake, else by the queue. A process that dies takes the rings it held back with it; the sweeper finds the lane.
 */
@Injectable()
export class RingLanes implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly lanes = new Map<string, RungLane>();
  /** By the receipt that was rung for. */
  private readonly deviceOf = new Map<string, string>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly bell: Pick<LaneBell, 'ring'>,
    private readonly wakes: Pick<WakeLanes, 'wake' | 'end'>,
    private readonly settled: Pick<SettledReceipts, 'onSettled' | 'isListening'>,
    private readonly clock: Clock = systemClock,
  ) {}

  onApplicationBootstrap(): void {
    this.settled.onSettled((receiptId) => this.afterSettled(receiptId));
    this.timer = setInterval(() => this.ringOverdue(), CHECK_EVERY_MS);
    this.timer.unref();
  }

  /** While the bell still is at work: nothing is held back any more. */
  beforeApplicationShutdown(): void {
    if (this.timer) clearInterval(this.timer);
    this.wakes.end();
    for (const [deviceId, { next }] of this.lanes) if (next !== null) this.bell.ring(deviceId);
  }

  /** After the commit of this receipt. */
  ring(deviceId: string, receiptId: string): void {
    const lane = this.lanes.get(deviceId);
    if (!this.settled.isListening) this.bell.ring(deviceId);
    else if (lane) lane.next = receiptId;
    else this.ringFor(deviceId, receiptId);
  }

  /** Rings what has waited too long for news. Called by a timer. */
  ringOverdue(): void {
    const nowMs = this.clock.monotonicMs();
    for (const [deviceId, lane] of this.lanes)
      if (!this.settled.isListening || nowMs - lane.rungAtMs >= HELD_BACK_AT_MOST_MS) this.goOn(deviceId, lane);
  }

  private afterSettled(receiptId: string): void {
    const deviceId = this.deviceOf.get(receiptId);
    const lane = deviceId === undefined ? undefined : this.lanes.get(deviceId);
    if (deviceId !== undefined && lane) this.goOn(deviceId, lane);
  }

  private goOn(deviceId: string, lane: RungLane): void {
    this.lanes.delete(deviceId);
    this.deviceOf.delete(lane.receiptId);
    if (lane.next !== null) this.ringFor(deviceId, lane.next);
  }

  private ringFor(deviceId: string, receiptId: string): void {
    this.lanes.set(deviceId, { receiptId, rungAtMs: this.clock.monotonicMs(), next: null });
    this.deviceOf.set(receiptId, deviceId);
    this.wakeOrRing(deviceId);
  }

  private wakeOrRing(deviceId: string): void {
    if (!this.wakes.wake(deviceId)) this.bell.ring(deviceId);
  }
}
