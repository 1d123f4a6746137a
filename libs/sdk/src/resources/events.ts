import type { Api } from '../api.js';
import { sleep } from '../clock.js';
import type { PagedList } from '../pages.js';
import type { CallOptions } from '../transport.js';
import type { FiscalEvent } from '../webhook-signature.js';

export interface EventFilters {
  /** `receipt.registered`, `refund.*` … */
  types?: readonly string[];
  /** Where to go on; left out: from the first event there is. */
  cursor?: string | null;
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

/** The merchant's events in order, without gaps. */
export class Events {
  constructor(private readonly api: Api) {}

  /** What has happened until now. */
  list({ types, cursor }: EventFilters = {}, options?: CallOptions): PagedList<EventPage> {
    const query = { limit: PAGE, ...(types && { type: types.join(',') }), ...(cursor && { cursor }) };
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
}
