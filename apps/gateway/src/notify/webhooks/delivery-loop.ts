import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { PrismaService } from '#database';
import { FairSlots, Periodic, untilBeat, type FairSlotsOptions, type Logger, type ReleaseSlot } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { DeliveryRepository, type ClaimedEndpoint } from './delivery.repository.js';
import { EndpointLease } from './endpoint-lease.js';
import { PlanDeliveries } from './plan-deliveries.js';
import { SendDeliveries } from './send-deliveries.js';
import { WaitingEndpoints } from './waiting-endpoints.js';

const POLL_EVERY_MS = 500;
/**
 * Receivers that are served at the same time by this process: of one merchant at most these, and the last ones are for merchants that
 * have none. Those that fail have places of their own, they must not take those of the others.
 */
const PLACES: FairSlotsOptions = { total: 64, perKey: 16, reserved: 8 };
const PLACES_OF_FAILING: FairSlotsOptions = { total: 16, perKey: 4, reserved: 4 };

/**
 * Makes and sends deliveries beside the requests of this gateway, with nothing of the lanes: no queue, no relay. Several
 * gateways share the work by locks that are never waited for.
 */
@Injectable()
export class DeliveryLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly turns = new Set<Promise<void>>();
  private readonly well: WaitingEndpoints;
  private readonly failing: WaitingEndpoints;
  /** Whether endpoints wait for a place. */
  private isCrowded = false;
  private placeIsFree = new AbortController();
  private claiming: Promise<void> | null = null;
  private readonly planning: Periodic;

  constructor(
    plan: PlanDeliveries,
    private readonly sender: SendDeliveries,
    private readonly deliveries: DeliveryRepository,
    prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.well = new WaitingEndpoints(prisma, new FairSlots(PLACES), false);
    this.failing = new WaitingEndpoints(prisma, new FairSlots(PLACES_OF_FAILING), true);
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
    this.isCrowded = await this.fill(this.well);
    await this.fill(this.failing);
  }

  /** @returns whether others wait */
  private async fill(waiting: WaitingEndpoints): Promise<boolean> {
    const { taken, othersWait } = await waiting.take();
    try {
      const claimed = taken.size > 0 ? await this.deliveries.claimEndpoints([...taken.keys()]) : [];
      for (const endpoint of claimed) {
        this.begin(endpoint, taken.get(endpoint.id));
        taken.delete(endpoint.id);
      }
    } finally {
      for (const release of taken.values()) release();
    }
    return othersWait;
  }

  private begin(endpoint: ClaimedEndpoint, release: ReleaseSlot | undefined): void {
    const turn = this.work(endpoint).finally(() => {
      this.turns.delete(turn);
      release?.();
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
