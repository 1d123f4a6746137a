import type { Api } from '../api.js';
import { sleep } from '../clock.js';
import { ConnectionError } from '../errors.js';
import type { PagedList } from '../pages.js';
import type { CallOptions } from '../transport.js';
import type { FiscalEvent } from '../webhook-signature.js';
import { eventFrames } from './event-frames.js';

export interface EventFilters {
  /** `receipt.registered`, `refund.*` … */
  types?: readonly string[];
  /** The receipt, refund, payment, device … that they are about. */
  subjectId?: string;
  /** Where to go on; left out: from the first event there is. */
  cursor?: string | null;
}

/** An event as it comes, and the place behind it. */
export interface StreamedEvent {
  event: FiscalEvent;
  /** Keep it once the event is worked through: a stream that begins there goes on behind it. */
  cursor: string;
}

export interface FollowOptions extends CallOptions {
  /** Pause after nothing new was found (2 s by default). */
  idleMs?: number;
}

export interface EventPage {
  data: FiscalEvent[];
  /** The place after this page: keep it once the page is worked through. */
  next_cursor: string | null;
  has_more: boolean;
}

const IDLE_MS = 2_000;
const PAGE = 100;
/** As the stream itself asks for. */
const RECONNECT_MS = 1_000;

/** The merchant's events in order, without gaps. */
export class Events {
  constructor(private readonly api: Api) {}

  /** What has happened until now. */
  list(filters: EventFilters = {}, options?: CallOptions): PagedList<EventPage> {
    const query = { limit: PAGE, ...queryOf(filters) };
    return this.api.list('/v1/events', { query }, options) as unknown as PagedList<EventPage>;
  }

  /** The place after the last event there is now, for programs that only want what comes. Null: there is no event yet. */
  async end(options?: CallOptions): Promise<string | null> {
    // A filter that wants nothing: each page passes by thousands of events.
    let cursor: string | null = null;
    for await (const page of this.list({ types: ['none.none'] }, options).pages()) cursor = page.next_cursor;
    return cursor;
  }

  /**
   * What has happened and what happens, page by page, until the signal. A program that keeps `next_cursor` of each page
   * after working through it, and begins there again, misses nothing.
   */
  async *followPages(
    filters: EventFilters = {},
    options: FollowOptions = {},
  ): AsyncGenerator<EventPage, never, undefined> {
    const { idleMs = IDLE_MS, ...rest } = options;
    let cursor = filters.cursor ?? null;
    for (;;) {
      const page = await this.list({ ...filters, cursor }, rest).first();
      cursor = page.next_cursor ?? cursor;
      if (page.data.length > 0) yield page;
      if (!page.has_more) await sleep(idleMs, rest.signal);
    }
  }

  /** As `followPages`, event by event. */
  async *follow(
    filters: EventFilters = {},
    options: FollowOptions = {},
  ): AsyncGenerator<FiscalEvent, never, undefined> {
    for await (const page of this.followPages(filters, options)) yield* page.data;
    throw new Error('The feed has no end.');
  }

  /**
   * What happens from now on, or from the cursor on, within a second: server-sent events, connected again by itself from the cursor, so
   * that nothing is missed and nothing comes twice, however long the gateway is away. Ends by the signal alone, or by a refusal.
   */
  async *stream(
    filters: EventFilters = {},
    options: CallOptions = {},
  ): AsyncGenerator<StreamedEvent, never, undefined> {
    let cursor = filters.cursor ?? null;
    for (;;) {
      try {
        const query = queryOf({ ...filters, cursor });
        const answer = await this.api.download('/v1/events/stream', { query }, options);
        for await (const { id, data } of eventFrames(answer)) {
          cursor = id ?? cursor;
          if (data !== null && id !== null) yield { event: JSON.parse(data) as FiscalEvent, cursor: id };
        }
      } catch (error) {
        if (!isLost(error) || options.signal?.aborted) throw error;
      }
      await sleep(RECONNECT_MS, options.signal);
    }
  }
}

/** The connection broke off, or the gateway is away behind a proxy that answers; what was refused stays refused. */
function isLost(error: unknown): boolean {
  const { status = 0 } = error as { status?: number };
  return error instanceof ConnectionError || error instanceof TypeError || status === 429 || status >= 500;
}

function queryOf({ types, subjectId, cursor }: EventFilters): { type?: string; subject_id?: string; cursor?: string } {
  return {
    ...(types && { type: types.join(',') }),
    ...(subjectId !== undefined && { subject_id: subjectId }),
    ...(cursor && { cursor }),
  };
}
