import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Problem } from '#problems';
import { FairSlots, Periodic, type Logger } from '#runtime';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import type { GatewaySettings } from '../../settings.js';
import { EventReader, type FeedPlace } from './event-reader.js';
import { EventStream, type StreamOptions } from './event-stream.js';

/** Between two readings of the log; one statement for all streams of this gateway. */
const READ_EVERY_MS = 400;
/** Events of one reading for one stream: what a client that reads slowly holds in memory. */
const PIECE = 100;
/** Rights that were taken away end a stream within a second (docs/access.md). */
const CHECK_EVERY_MS = 500;
const HEARTBEAT_MS = 15_000;
/** A client that takes nothing for so long has gone, or is too slow. */
const STALLED_MS = 30_000;
/** So that streams spread over gateways again after one was started. */
const MAX_AGE_MS = 3_600_000;

/** Who opens a stream. */
export interface StreamOwner {
  clientId: string;
  merchantId: string;
}

/**
 * The streams of GET /v1/events/stream that this gateway serves. They are fed from the log alone, by the place where each one
 * stands: a gateway that dies takes nothing with it.
 */
@Injectable()
export class EventStreams implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly streams = new Set<EventStream>();
  private readonly perClient: FairSlots;
  private readonly slots: FairSlots;
  private readonly reading: Periodic;
  private readonly checking: Periodic;
  private isEnding = false;

  constructor(
    private readonly events: EventReader,
    @Inject(SETTINGS_TOKEN) settings: Pick<GatewaySettings, 'EVENT_STREAMS' | 'EVENT_STREAMS_PER_CLIENT'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.perClient = new FairSlots({ total: Infinity, perKey: settings.EVENT_STREAMS_PER_CLIENT });
    const total = settings.EVENT_STREAMS;
    // A quarter stays for merchants that have none.
    this.slots = new FairSlots({ total, perKey: Math.ceil(total / 4), reserved: Math.floor(total / 4) });
    this.reading = new Periodic(
      { name: 'reading events for streams', everyMs: READ_EVERY_MS, run: () => this.feed() },
      logger,
    );
    this.checking = new Periodic(
      { name: 'checking the readers of streams', everyMs: CHECK_EVERY_MS, run: () => this.check() },
      logger,
    );
  }

  get open(): number {
    return this.streams.size;
  }

  onApplicationBootstrap(): void {
    this.reading.start();
    this.checking.start();
  }

  async onModuleDestroy(): Promise<void> {
    this.endAll();
    await Promise.all([this.reading.stop(), this.checking.stop()]);
  }

  /** @throws Problem 429 where the client, its merchant or this gateway has too many */
  begin({ clientId, merchantId }: StreamOwner, options: Omit<StreamOptions, 'merchantId'>): EventStream {
    const releaseClient = this.perClient.tryTake(clientId);
    const release = releaseClient && this.slots.tryTake(merchantId);
    if (!release) {
      releaseClient?.();
      throw new Problem('too_many_requests', 'Too many streams of events are open; close one first.', {
        retryAfterSeconds: 5,
      });
    }
    const stream = new EventStream({ ...options, merchantId });
    this.streams.add(stream);
    stream.once('close', () => {
      release();
      releaseClient();
      this.streams.delete(stream);
    });
    if (this.isEnding) stream.finish();
    return stream;
  }

  /** The gateway stops: clients go on at another one, or here after the restart, from their cursor. */
  endAll(): void {
    this.isEnding = true;
    for (const stream of this.streams) stream.finish();
  }

  /** @returns whether more is to be read at once */
  private async feed(): Promise<boolean> {
    const byPlace = new Map<string, { place: FeedPlace; streams: EventStream[] }>();
    for (const stream of this.streams) {
      if (!stream.takesMore) continue;
      const place = { merchantId: stream.merchantId, after: stream.after };
      const key = `${place.merchantId}|${place.after}`;
      const group = byPlace.get(key) ?? { place, streams: [] };
      group.streams.push(stream);
      byPlace.set(key, group);
    }
    const groups = [...byPlace.values()];
    if (groups.length === 0) return false;
    const pieces = await this.events.readFeeds(
      groups.map(({ place }) => place),
      PIECE,
    );
    let hasMore = false;
    pieces.forEach(({ rows, isLost }, index) => {
      hasMore ||= rows.length === PIECE;
      for (const stream of groups[index]?.streams ?? []) {
        // An older database was put back: the client is refused when it comes with its cursor, and begins again.
        if (isLost) stream.finish();
        else stream.give(rows);
      }
    });
    return hasMore;
  }

  private async check(): Promise<void> {
    await Promise.all([...this.streams].map((stream) => this.checkOne(stream)));
  }

  private async checkOne(stream: EventStream): Promise<void> {
    if (stream.stalledMs > STALLED_MS) return void stream.destroy();
    if (performance.now() - stream.openedAtMs > MAX_AGE_MS) return stream.finish();
    const mayGoOn = await stream.mayGoOn().catch((error: unknown) => {
      this.logger.debug({ err: error }, 'the rights of a stream were not read');
      return false;
    });
    if (!mayGoOn) return stream.finish();
    if (stream.silentMs >= HEARTBEAT_MS) stream.beat();
  }
}
