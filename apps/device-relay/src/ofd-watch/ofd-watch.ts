import type { Logger } from '#runtime';
import type { OfdRepository, ResendClaim } from './ofd.repository.js';
import type { ResendUnsent } from './resend-unsent.js';

/** Longer than a resend takes. */
const LEASE_MS = 120_000;

/** Looks what is due towards the OFD: alerts of receipts, resends of devices. */
export class OfdWatch {
  private readonly running = new Set<Promise<unknown>>();

  constructor(
    private readonly ofd: OfdRepository,
    private readonly resender: ResendUnsent,
    private readonly options: { concurrency: number },
    private readonly logger: Logger,
  ) {}

  /** True: there may be more to do at once. */
  async look(): Promise<boolean> {
    const moreAlerts = await this.ofd.alert();
    await this.ofd.planResends();
    const free = this.options.concurrency - this.running.size;
    const claims = free > 0 ? await this.ofd.claimDue(free, LEASE_MS) : [];
    for (const claim of claims) this.begin(claim);
    return moreAlerts;
  }

  /** Resends under way have ended. */
  async settle(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }

  private begin(claim: ResendClaim): void {
    const resend = this.resender
      .execute(claim)
      .catch((error: unknown) =>
        // Its lease ends by itself, then it is due again.
        this.logger.warn({ err: error, device_id: claim.deviceId }, 'resend failed'),
      )
      .finally(() => this.running.delete(resend));
    this.running.add(resend);
  }
}
