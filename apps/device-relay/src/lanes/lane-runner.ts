import type { Logger } from '#runtime';
import type { DrainLane, Drained } from './drain-lane.js';

/** Longer waits are the sweeper's: a timer for each of 10 000 sleeping lanes would be work for nothing. */
const LONGEST_TIMER_MS = 300_000;

/**
 * Runs drains, at most `concurrency` at the same time and one per device, and sees to it that a lane that has more to do
 * is looked at again: at once behind the others (fair), or when its wait is over.
 */
export class LaneRunner {
  private readonly running = new Map<string, Promise<void>>();
  /** Woken while in hand. */
  private readonly wokenAgain = new Set<string>();
  /** By device: takes its timer back. */
  private readonly timers = new Map<string, () => void>();
  private stopping = false;

  constructor(
    private readonly drainLane: DrainLane,
    private readonly options: {
      concurrency: number;
      ringAgain: (deviceId: string) => void;
      /** Given only where time is simulated. */
      later?: (afterMs: number, run: () => void) => () => void;
    },
    private readonly logger: Logger,
  ) {}

  get freePlaces(): number {
    return this.stopping ? 0 : this.options.concurrency - this.running.size;
  }

  /** Resolves when this drain is over. A lane in hand here is not drained twice at a time: it is looked at again after it. */
  async wake(deviceId: string): Promise<void> {
    if (this.stopping) return;
    const inHand = this.running.get(deviceId);
    if (inHand) {
      this.wokenAgain.add(deviceId);
      return inHand;
    }
    this.cancelTimer(deviceId);
    const drain = this.drain(deviceId);
    this.running.set(deviceId, drain);
    await drain;
  }

  /** Begins nothing new, waits for what is in hand. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.drainLane.stop();
    for (const cancel of this.timers.values()) cancel();
    this.timers.clear();
    await Promise.allSettled(this.running.values());
  }

  private async drain(deviceId: string): Promise<void> {
    let drained: Drained = { kind: 'idle' };
    try {
      drained = await this.drainLane.drain(deviceId);
    } catch (error) {
      // The database is away or refuses: what was begun is an open attempt, the sweeper comes back to it.
      this.logger.error({ err: error, device_id: deviceId }, 'lane failed');
    } finally {
      this.running.delete(deviceId);
    }
    const wokenAgain = this.wokenAgain.delete(deviceId);
    if (this.stopping) return;
    // The drain's own last look may have been before the receipt whose bell rang meanwhile.
    if (drained.kind === 'more' || (drained.kind === 'idle' && wokenAgain)) this.options.ringAgain(deviceId);
    if (drained.kind === 'wait' && drained.afterMs <= LONGEST_TIMER_MS) this.wakeAfter(deviceId, drained.afterMs);
  }

  private wakeAfter(deviceId: string, afterMs: number): void {
    this.cancelTimer(deviceId);
    const cancel = (this.options.later ?? later)(afterMs + 1, () => {
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

function later(afterMs: number, run: () => void): () => void {
  const timer = setTimeout(run, afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
