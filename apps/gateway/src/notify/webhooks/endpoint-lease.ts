import type { Logger } from '#runtime';
import type { ClaimedEndpoint, DeliveryRepository } from './delivery.repository.js';

/** Two renewals may fail before the lease has run out. */
const RENEW_MS = 2_500;

/** Keeps an endpoint ours from the claim to the release, while its receiver thinks. */
export class EndpointLease {
  private hasRunOut = false;
  private renewal = Promise.resolve();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly endpoint: ClaimedEndpoint,
    private readonly deliveries: Pick<DeliveryRepository, 'renew'>,
    private readonly logger: Logger,
  ) {
    this.timer = setInterval(() => {
      this.renewal = this.renewal.then(() => this.renew());
    }, RENEW_MS);
  }

  /** Another process may send what is left: nothing more begins here. */
  get isLost(): boolean {
    return this.hasRunOut;
  }

  /** Afterwards no renewal is under way, and the endpoint can be released. */
  end(): Promise<void> {
    clearInterval(this.timer);
    return this.renewal;
  }

  private async renew(): Promise<void> {
    try {
      this.hasRunOut ||= !(await this.deliveries.renew(this.endpoint));
    } catch (error) {
      // The next one may succeed in time; else what was sent meanwhile is sent again, with the same ids.
      this.logger.warn({ err: error, endpoint_id: this.endpoint.id }, 'the lease of a webhook was not renewed');
    }
  }
}
