import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Periodic, untilBeat, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { DeliveryRepository, type ClaimedEndpoint } from './delivery.repository.js';
import { EndpointLease } from './endpoint-lease.js';
import { PlanDeliveries } from './plan-deliveries.js';
import { SendDeliveries } from './send-deliveries.js';

const POLL_EVERY_MS = 500;
/** Receivers that are served at the same time by this process, and of these how many that fail. */
const PLACES = 80;
const PLACES_OF_FAILING = 16;

/**
 * Makes and sends deliveries beside the requests of this gateway, with nothing of the lanes: no queue, no relay. Several
 * gateways share the work by locks that are never waited for.
 */
@Injectable()
export class DeliveryLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly turns = new Set<Promise<void>>();
  private failing = 0;
  /** Whether more endpoints wait than there are places. */
  private isCrowded = false;
  private placeIsFree = new AbortController();
  private claiming: Promise<void> | null = null;
  private readonly planning: Periodic;

  constructor(
    plan: PlanDeliveries,
    private readonly sender: SendDeliveries,
    private readonly deliveries: DeliveryRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    // What a round could not do, because the database is away or a lock was not to be had, the next one does.
    const work = { name: 'planning deliveries', everyMs: POLL_EVERY_MS, isOnBeat: true, run: () => plan.execute() };
    this.planning = new Periodic(work, logger);
  }

  onApplicationBootstrap(): void {
    this.planning.start();
    this.claiming = this.claimAgainAndAgain();
  }

  /** A request that is under way ends within its own deadline; what is cut off is sent again. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.claiming, this.planning.stop()]);
    await Promise.all(this.turns);
  }

  /** Twice a second, and as soon as a place becomes free for which a delivery waits. */
  private async claimAgainAndAgain(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      this.placeIsFree = new AbortController();
      await this.claim().catch((error: unknown) => this.logger.warn({ err: error }, 'webhooks could not be worked on'));
      const woken = AbortSignal.any([signal, this.placeIsFree.signal]);
      await delay(untilBeat(POLL_EVERY_MS), undefined, { signal: woken, ref: false }).catch(() => 'woken');
    }
  }

  private async claim(): Promise<void> {
    if (!(await this.deliveries.isAnyDue())) {
      this.isCrowded = false;
      return;
    }
    const failingPlaces = PLACES_OF_FAILING - this.failing;
    const places = PLACES - PLACES_OF_FAILING - (this.turns.size - this.failing);
    const well = places > 0 ? await this.deliveries.claimEndpoints(places, false) : [];
    const failing = failingPlaces > 0 ? await this.deliveries.claimEndpoints(failingPlaces, true) : [];
    this.isCrowded = well.length >= places;
    for (const endpoint of [...well, ...failing]) this.begin(endpoint);
  }

  private begin(endpoint: ClaimedEndpoint): void {
    if (endpoint.is_failing) this.failing += 1;
    const turn = this.work(endpoint).finally(() => {
      this.turns.delete(turn);
      if (endpoint.is_failing) this.failing -= 1;
      if (this.isCrowded) this.placeIsFree.abort();
    });
    this.turns.add(turn);
  }

  private async work(endpoint: ClaimedEndpoint): Promise<void> {
    const lease = new EndpointLease(endpoint, this.deliveries, this.logger);
    try {
      await this.sender.execute(endpoint, {
        stopping: this.stopping.signal,
        othersWait: () => this.isCrowded,
        lease,
      });
    } catch (error) {
      // Its lease ends by itself; then it is due as before.
      this.logger.warn({ err: error, endpoint_id: endpoint.id }, 'a webhook receiver could not be worked on');
    } finally {
      await lease.end();
    }
  }
}
