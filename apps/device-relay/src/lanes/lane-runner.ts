import type { Logger } from '#runtime';
import { later as usualLater, Places, type Later, type Place } from '../shares/places.js';
import type { DrainLane, Drained } from './drain-lane.js';
import type { LaneMerchants } from './lane-merchants.js';

/** Longer waits are the sweeper's: a timer for each of 10 000 sleeping lanes would be work for nothing. */
const LONGEST_TIMER_MS = 300_000;

interface LaneInHand {
  /** Resolves when the drain is over. */
  over: Promise<void>;
  /** Resolves when the drain is over, waits for a place, or its register is silent. */
  quiet: Promise<void>;
  /** It has a place; what is due there is read after this. */
  hasBegun: boolean;
}

export interface LaneBounds {
  /** Lanes that work at the same time. */
  places: number;
  /** Lanes in hand whose register is silent. */
  aside: number;
}

/**
 * Runs drains, one per device and as many as there are places, divided by merchant (docs/adr/0065-places-by-merchant.md), and sees
 * to it that a lane that has more to do is read again: at once behind the merchant's others, or when its wait is over.
 */
export class LaneRunner {
  private readonly running = new Map<string, LaneInHand>();
  /** Woken while in hand. */
  private readonly wokenAgain = new Set<string>();
  /** By device: takes its timer back. */
  private readonly timers = new Map<string, () => void>();
  private readonly places: Places;
  private stopping = false;

  constructor(
    private readonly drainLane: Pick<DrainLane, 'drain' | 'stop'>,
    private readonly merchants: Pick<LaneMerchants, 'of'>,
    private readonly ringAgain: (deviceId: string) => void,
    private readonly bounds: LaneBounds,
    private readonly logger: Logger,
    private readonly later: Later = usualLater,
  ) {
    this.places = new Places({ ...bounds, isDivided: true });
  }

  get freePlaces(): number {
    return this.places.free;
  }

  /** Lanes in hand that wait for a silent register. */
  get lanesAside(): number {
    return this.places.aside;
  }

  /** Lanes that wait for a place. */
  get lanesWaiting(): number {
    return this.places.waiting;
  }

  /** Lanes that this merchant should have in hand here: twice what may work at once is work enough until the next sweep. */
  capacityOf(merchantId: string): number {
    return Math.max(0, 2 * this.bounds.places - this.places.loadOf(merchantId));
  }

  /** It works, waits for a place, or for a silent register. */
  isInHand(deviceId: string): boolean {
    return this.running.has(deviceId);
  }

  /**
   * Resolves when this drain is over, or when it only waits, for a place or for a silent register: the queue is not held up by
   * lanes that cannot work. A lane in hand here is not drained twice at a time: it is read again after it.
   */
  async wake(deviceId: string): Promise<void> {
    if (this.stopping) return;
    const inHand = this.running.get(deviceId);
    if (inHand) {
      if (inHand.hasBegun) this.wokenAgain.add(deviceId);
      return inHand.quiet;
    }
    this.cancelTimer(deviceId);
    let settleQuiet = (): void => undefined;
    const quiet = new Promise<void>((resolve) => (settleQuiet = resolve));
    const lane: LaneInHand = { over: quiet, quiet, hasBegun: false };
    this.running.set(deviceId, lane);
    lane.over = this.drain(deviceId, lane, settleQuiet).finally(settleQuiet);
    await quiet;
  }

  /** Begins nothing new, waits for what is in hand. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.drainLane.stop();
    this.places.close();
    for (const cancel of this.timers.values()) cancel();
    this.timers.clear();
    await Promise.allSettled([...this.running.values()].map(({ over }) => over));
  }

  private async drain(deviceId: string, lane: LaneInHand, whenQuiet: () => void): Promise<void> {
    let drained: Drained = { kind: 'idle' };
    let place: Place | null = null;
    let isLeftToLastRead = false;
    let hasFailed = false;
    try {
      place = await this.enter(deviceId, whenQuiet);
      lane.hasBegun = true;
      // What was committed before the last read of the lane is seen by it.
      const beforeLastRead = (): void => {
        if (this.wokenAgain.delete(deviceId)) isLeftToLastRead = true;
      };
      const inUse = place && { place: noticed(place, whenQuiet), later: this.later };
      if (inUse) drained = await this.drainLane.drain(deviceId, inUse, beforeLastRead);
    } catch (error) {
      // The database is away or refuses: what was begun is an open attempt, the sweeper comes back to it.
      hasFailed = true;
      this.logger.error({ err: error, device_id: deviceId }, 'lane failed');
      // The read that was to see what rang meanwhile has not been.
      if (isLeftToLastRead) this.wokenAgain.add(deviceId);
    } finally {
      place?.leave();
      this.running.delete(deviceId);
    }
    const wokenAgain = this.wokenAgain.delete(deviceId);
    if (this.stopping) return;
    // The drain's own last read may have been before the receipt whose bell rang meanwhile.
    if (drained.kind === 'more' || (hasFailed && wokenAgain)) this.ringAgain(deviceId);
    else if (drained.kind === 'idle' && wokenAgain) void this.wake(deviceId);
    if (drained.kind === 'wait' && drained.afterMs <= LONGEST_TIMER_MS) this.wakeAfter(deviceId, drained.afterMs);
  }

  /** Null: there is no such lane, too many wait (the sweeper comes back to this one), or the relay stops. */
  private async enter(deviceId: string, whenWaiting: () => void): Promise<Place | null> {
    const merchantId = await this.merchants.of(deviceId);
    if (merchantId === null) return null;
    const place = this.places.tryEnter(merchantId);
    if (place) return place;
    whenWaiting();
    return this.places.enter(merchantId);
  }

  private wakeAfter(deviceId: string, afterMs: number): void {
    this.cancelTimer(deviceId);
    const cancel = this.later(afterMs + 1, () => {
      this.timers.delete(deviceId);
      void this.wake(deviceId);
    });
    this.timers.set(deviceId, cancel);
  }

  private cancelTimer(deviceId: string): void {
    this.timers.get(deviceId)?.();
    this.timers.delete(deviceId);
  }
}

/** The same place; `whenAside` is called when it is given up for the first time. */
function noticed(place: Place, whenAside: () => void): Place {
  return {
    ...place,
    setAside: () => {
      const isAside = place.setAside();
      if (isAside) whenAside();
      return isAside;
    },
  };
}
