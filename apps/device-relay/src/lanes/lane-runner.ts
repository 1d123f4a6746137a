import type { Logger } from '#runtime';
import { later, Places, type Later, type Place } from '../places.js';
import type { DrainLane, Drained } from './drain-lane.js';

/** Longer waits are the sweeper's: a timer for each of 10 000 sleeping lanes would be work for nothing. */
const LONGEST_TIMER_MS = 300_000;

interface LaneInHand {
  /** Resolves when the drain is over. */
  over: Promise<void>;
  /** Resolves when the drain is over or its register is silent. */
  quiet: Promise<void>;
}

export interface LaneRunnerOptions {
  /** Lanes that work at the same time. */
  places: number;
  /** Lanes in hand whose register is silent. */
  aside: number;
  ringAgain: (deviceId: string) => void;
  /** Given only where time is simulated. */
  later?: Later;
}

/**
 * Runs drains, one per device and as many as there are places, and sees to it that a lane that has more to do is read again:
 * at once behind the others (fair), or when its wait is over.
 */
export class LaneRunner {
  private readonly running = new Map<string, LaneInHand>();
  /** Woken while in hand. */
  private readonly wokenAgain = new Set<string>();
  /** By device: takes its timer back. */
  private readonly timers = new Map<string, () => void>();
  private readonly places: Places;
  private readonly later: Later;
  private stopping = false;

  constructor(
    private readonly drainLane: DrainLane,
    private readonly options: LaneRunnerOptions,
    private readonly logger: Logger,
  ) {
    this.places = new Places(options);
    this.later = options.later ?? later;
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

  /**
   * Resolves when this drain is over, or when it only waits for a silent register: whoever wakes lanes shall not wait for that
   * one. A lane in hand here is not drained twice at a time: it is read again after it.
   */
  async wake(deviceId: string): Promise<void> {
    if (this.stopping) return;
    const inHand = this.running.get(deviceId);
    if (inHand) {
      this.wokenAgain.add(deviceId);
      return inHand.quiet;
    }
    this.cancelTimer(deviceId);
    let settleQuiet = (): void => undefined;
    const quiet = new Promise<void>((resolve) => (settleQuiet = resolve));
    const over = this.drain(deviceId, settleQuiet).finally(settleQuiet);
    this.running.set(deviceId, { over, quiet });
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

  private async drain(deviceId: string, whenAside: () => void): Promise<void> {
    let drained: Drained = { kind: 'idle' };
    const place = await this.places.enter();
    try {
      if (place)
        drained = await this.drainLane.drain(deviceId, { place: noticed(place, whenAside), later: this.later });
    } catch (error) {
      // The database is away or refuses: what was begun is an open attempt, the sweeper comes back to it.
      this.logger.error({ err: error, device_id: deviceId }, 'lane failed');
    } finally {
      place?.leave();
      this.running.delete(deviceId);
    }
    const wokenAgain = this.wokenAgain.delete(deviceId);
    if (this.stopping) return;
    // The drain's own last read may have been before the receipt whose bell rang meanwhile.
    if (drained.kind === 'more' || (drained.kind === 'idle' && wokenAgain)) this.options.ringAgain(deviceId);
    if (drained.kind === 'wait' && drained.afterMs <= LONGEST_TIMER_MS) this.wakeAfter(deviceId, drained.afterMs);
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
