import { Injectable } from '@nestjs/common';
import { IsOptional, Matches } from 'class-validator';
import { isId } from '#fiscal-domain';
import { Problem } from '#problems';
import { PageQuery } from '../../http/paging.js';
import { EventReader } from './event-reader.js';
import { eventView, type EventRow, type EventView } from './event-row.js';
import { EVENT_PATTERNS, wants } from './event-patterns.js';

export class EventsQuery extends PageQuery {
  /** Patterns joined by commas: `receipt.registered`, `receipt.*`. */
  @IsOptional()
  @Matches(EVENT_PATTERNS, {
    message: 'type must be event types joined by commas, such as receipt.registered,refund.*',
  })
  type?: string;
}

export interface EventPage {
  data: EventView[];
  /** Where to go on, also at the end: asked again with it, the list holds what has happened since. Null: nothing yet. */
  next_cursor: string | null;
  has_more: boolean;
}

const DEFAULT_LIMIT = 20;
/** With a filter so many are read for one page: a rare type must not make a request read the whole log. */
const READ_WITH_FILTER = 5_000;

/** GET /v1/events: oldest first; a client that follows the cursor misses nothing. */
@Injectable()
export class ListEvents {
  constructor(private readonly events: EventReader) {}

  /** @throws Problem 422 for a cursor that names no event of this log (any more) */
  async page(merchantId: string, query: EventsQuery): Promise<EventPage> {
    const limit = query.limit === undefined ? DEFAULT_LIMIT : Number(query.limit);
    const after = await this.positionOf(merchantId, query.cursor);
    const patterns = query.type?.split(',') ?? ['*'];
    const readLimit = query.type === undefined ? limit + 1 : READ_WITH_FILTER;
    const rows = await this.events.readAfter(merchantId, after, readLimit);
    const wanted = rows.filter(({ type }) => wants(patterns, type));
    const isCut = wanted.length > limit;
    const page = wanted.slice(0, limit);
    const last = isCut ? page.at(-1) : rows.at(-1);
    return {
      data: page.map(eventView),
      next_cursor: last ? cursorOf(last) : (query.cursor ?? null),
      has_more: isCut || rows.length === readLimit,
    };
  }

  private async positionOf(merchantId: string, cursor: string | undefined): Promise<bigint> {
    if (cursor === undefined) return 0n;
    const [position = '', id = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split('|');
    if (/^\d{1,18}$/.test(position) && isId('evt', id)) {
      const at = BigInt(position);
      if (await this.events.isAt(merchantId, at, id)) return at;
    }
    // Also after an older database was put back: going on from a position that now belongs to something else would skip.
    const detail = 'cursor names no event of this log; begin again without one';
    throw Problem.fromErrors([{ pointer: '/cursor', code: 'invalid_value', detail }]);
  }
}

function cursorOf({ position, id }: EventRow): string {
  return Buffer.from(`${position}|${id}`).toString('base64url');
}
