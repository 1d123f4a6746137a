import type { Logger } from '#runtime';
import { WorkInHand } from '../shares/due-by-merchant.js';
import type { CloseShift, PollsAgain } from './close-shift.js';
import type { CloseClaim, ShiftRepository } from './shift.repository.js';

/** Longer than a close takes, and the pause before the next try of one that did not work. */
const LEASE_MS = 60_000;
const COMPARED_PER_POLL = 50;

/** Closes shifts whose time has come, and compares Z-reports with the gateway's own receipts. */
export class ShiftKeeper {
  private readonly inHand: WorkInHand;

  constructor(
    private readonly shifts: ShiftRepository,
    private readonly closer: CloseShift,
    private readonly poller: PollsAgain,
    options: { concurrency: number },
    private readonly logger: Logger,
  ) {
    this.inHand = new WorkInHand(options.concurrency);
  }

  /** True: there may be more to do at once. */
  async poll(): Promise<boolean> {
    const { closes, comparisons } = await this.shifts.whatIsDue();
    const shares = this.inHand.shares();
    const due = closes && shares.free > 0 ? await this.shifts.claimDue(shares, LEASE_MS) : [];
    for (const claim of due) this.begin(claim);
    return comparisons && (await this.shifts.compareWaiting(COMPARED_PER_POLL)) === COMPARED_PER_POLL;
  }

  /** Closes under way have ended. */
  settle(): Promise<void> {
    return this.inHand.settle();
  }

  private begin({ deviceId, merchantId, shiftNumber }: CloseClaim): void {
    const close = this.close(deviceId, shiftNumber).catch((error: unknown) =>
      // Its lease ends by itself, then it is due again.
      this.logger.warn({ err: error, device_id: deviceId }, 'closing a shift failed'),
    );
    this.inHand.begin(merchantId, close);
  }

  private async close(deviceId: string, shiftNumber: number | null): Promise<void> {
    const result = await this.closer.execute(deviceId, shiftNumber);
    const isOpen = result.kind === 'later' || result.kind === 'refused';
    if (isOpen) this.logger.warn({ device_id: deviceId, result }, 'the shift stays open; tried again');
    if (result.kind === 'refused') return;
    // The reading is behind: it would call the shift due once more. What became of a close whose answers were lost is read as well.
    await this.poller.pollNow(deviceId, { readsShift: true });
    if (isOpen) await this.shifts.postponeDue(deviceId, LEASE_MS);
  }
}
