import type { Logger } from '#runtime';
import type { HealthPoller } from '../health/health-poller.js';
import type { CloseShift } from './close-shift.js';
import type { ShiftRepository } from './shift.repository.js';

/** Longer than a close takes, and the pause before the next try of one that did not work. */
const LEASE_MS = 60_000;
const COMPARED_PER_LOOK = 50;

/** Closes shifts whose time has come, and compares Z-reports with the gateway's own receipts. */
export class ShiftKeeper {
  private readonly running = new Set<Promise<unknown>>();

  constructor(
    private readonly shifts: ShiftRepository,
    private readonly closer: CloseShift,
    private readonly poller: HealthPoller,
    private readonly options: { concurrency: number },
    private readonly logger: Logger,
  ) {}

  /** True: there may be more to do at once. */
  async look(): Promise<boolean> {
    const free = this.options.concurrency - this.running.size;
    const due = free > 0 ? await this.shifts.claimDue(free, LEASE_MS) : [];
    for (const deviceId of due) this.begin(deviceId);
    return (await this.shifts.compareWaiting(COMPARED_PER_LOOK)) === COMPARED_PER_LOOK;
  }

  /** Closes under way have ended. */
  async settle(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }

  private begin(deviceId: string): void {
    const close = this.close(deviceId)
      .catch((error: unknown) =>
        // Its lease ends by itself, then it is due again.
        this.logger.warn({ err: error, device_id: deviceId }, 'closing a shift failed'),
      )
      .finally(() => this.running.delete(close));
    this.running.add(close);
  }

  private async close(deviceId: string): Promise<void> {
    const result = await this.closer.execute(deviceId);
    if (result.kind === 'later' || result.kind === 'refused') {
      this.logger.warn({ device_id: deviceId, result }, 'the shift stays open; tried again');
      return;
    }
    // The reading is behind: it would call the shift due once more.
    await this.poller.pollNow(deviceId, { readsShift: true });
  }
}
