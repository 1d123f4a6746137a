import type { Logger } from '#runtime';
import { WorkInHand } from '../shares/due-by-merchant.js';
import type { OfdRepository, ResendClaim } from './ofd.repository.js';
import type { ResendUnsent } from './resend-unsent.js';

/** Longer than a resend takes. */
const LEASE_MS = 120_000;

/** Finds what is due towards the OFD: alerts of receipts, resends of devices. */
export class OfdWatch {
  private readonly inHand: WorkInHand;

  constructor(
    private readonly ofd: OfdRepository,
    private readonly resender: ResendUnsent,
    options: { concurrency: number },
    private readonly logger: Logger,
  ) {
    this.inHand = new WorkInHand(options.concurrency);
  }

  /** True: there may be more to do at once. */
  async poll(): Promise<boolean> {
    const { alerts, resends } = await this.ofd.whatIsDue();
    const moreAlerts = alerts && (await this.ofd.alert());
    // Not asked for with the others: it reads each device that owes something.
    const planned = await this.ofd.planResends();
    const shares = this.inHand.shares();
    const claims = (planned > 0 || resends) && shares.free > 0 ? await this.ofd.claimDue(shares, LEASE_MS) : [];
    for (const claim of claims) this.begin(claim);
    return moreAlerts;
  }

  /** Resends under way have ended. */
  settle(): Promise<void> {
    return this.inHand.settle();
  }

  private begin(claim: ResendClaim): void {
    const resend = this.resender.execute(claim).catch((error: unknown) =>
      // Its lease ends by itself, then it is due again.
      this.logger.warn({ err: error, device_id: claim.deviceId }, 'resend failed'),
    );
    this.inHand.begin(claim.merchantId, resend);
  }
}
