import type { LaneListener } from '#queue';
import type { WakeNotices } from './wake-notices.js';

/** The two ways in which lanes are woken from outside: the queue, and notices for those that this relay had last. */
export class LaneWakes {
  constructor(
    readonly queue: LaneListener,
    readonly notices: WakeNotices,
  ) {}

  /** @param concurrency wake-ups of the queue that are in hand at the same time */
  start(wake: (deviceId: string) => Promise<void>, concurrency: number): void {
    const wakeFromQueue = (deviceId: string): Promise<void> => {
      this.notices.announce(deviceId);
      return wake(deviceId);
    };
    this.queue.start(wakeFromQueue, { concurrency });
    this.notices.start(wake);
  }
}
