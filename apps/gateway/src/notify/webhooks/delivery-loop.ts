import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { ClearDeliveries } from './clear-deliveries.js';
import { DeliveryRepository, type ClaimedEndpoint } from './delivery.repository.js';
import { PlanDeliveries } from './plan-deliveries.js';
import { SendDeliveries } from './send-deliveries.js';

const LOOK_EVERY_MS = 500;
/** Days pass until something is old. */
const CLEAR_EVERY_MS = 600_000;
/** Receivers that are served at the same time by this process, and of these how many that fail. */
const PLACES = 80;
const PLACES_OF_FAILING = 16;

/**
 * Makes and sends deliveries beside the requests of this gateway, with nothing of the lanes: no queue, no relay. Several
 * gateways share the work by locks that nobody waits for.
 */
@Injectable()
export class DeliveryLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly turns = new Set<Promise<void>>();
  private failing = 0;
  /** Whether more endpoints wait than there are places. */
  private isCrowded = false;
  private placeIsFree = new AbortController();
  private running: Promise<unknown> | null = null;

  constructor(
    private readonly plan: PlanDeliveries,
    private readonly sender: SendDeliveries,
    private readonly deliveries: DeliveryRepository,
    private readonly clearing: ClearDeliveries,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.running = Promise.all([
      this.repeat(() => this.plan.execute(), LOOK_EVERY_MS),
      this.claimAgainAndAgain(),
      this.repeat(() => this.clearing.execute(), CLEAR_EVERY_MS),
    ]);
  }

  /** A request that is under way ends within its own deadline; what is cut off is sent again. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await Promise.all(this.turns);
  }

  private async repeat(step: () => Promise<boolean>, everyMs: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      if (await this.attempt(step)) continue;
      await delay(everyMs * (0.8 + Math.random() * 0.4), undefined, { signal, ref: false }).catch(() => 'stopped');
    }
  }

  private attempt(step: () => Promise<boolean>): Promise<boolean> {
    return step().catch((error: unknown) => {
      // The database is away, or a lock was not to be had: nothing was lost, the next look does it.
      this.logger.warn({ err: error }, 'webhooks could not be worked on');
      return false;
    });
  }

  /** Twice a second, and as soon as a place becomes free for which somebody waits. */
  private async claimAgainAndAgain(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      this.placeIsFree = new AbortController();
      await this.attempt(() => this.claim());
      const woken = AbortSignal.any([signal, this.placeIsFree.signal]);
      const pauseMs = LOOK_EVERY_MS * (0.8 + Math.random() * 0.4);
      await delay(pauseMs, undefined, { signal: woken, ref: false }).catch(() => 'woken');
    }
  }

  private async claim(): Promise<false> {
    const failingPlaces = PLACES_OF_FAILING - this.failing;
    const places = PLACES - PLACES_OF_FAILING - (this.turns.size - this.failing);
    const well = places > 0 ? await this.deliveries.claimEndpoints(places, false) : [];
    const failing = failingPlaces > 0 ? await this.deliveries.claimEndpoints(failingPlaces, true) : [];
    this.isCrowded = well.length >= places;
    for (const endpoint of [...well, ...failing]) this.begin(endpoint);
    return false;
  }

  private begin(endpoint: ClaimedEndpoint): void {
    if (endpoint.is_failing) this.failing += 1;
    const turn: Promise<void> = this.sender
      .execute(endpoint, { stopping: this.stopping.signal, othersWait: () => this.isCrowded })
      .catch((error: unknown) => {
        // Its lease ends by itself; then it is due as before.
        this.logger.warn({ err: error, endpoint_id: endpoint.id }, 'a webhook receiver could not be worked on');
      })
      .finally(() => {
        this.turns.delete(turn);
        if (endpoint.is_failing) this.failing -= 1;
        if (this.isCrowded) this.placeIsFree.abort();
      });
    this.turns.add(turn);
  }
}
