import { Injectable } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import { Problem } from '#problems';
import { limitOf, PageQuery } from '../../http/paging.js';
import { IsPlainText } from '../../http/query-rules.js';
import { BEGINNING, cursorOf, readEventCursor, type EventPlace } from './event-cursor.js';
import { EventReader } from './event-reader.js';
import { eventView, type EventRow, type EventView } from './event-row.js';
import { AreEventPatterns, wants } from './event-patterns.js';

export class EventsQuery extends PageQuery {
  /** Patterns joined by commas: `receipt.registered`, `receipt.*`. */
  @IsOptional()
  @AreEventPatterns()
  type?: string;

  /** What the events are about: a receipt, refund, payment, device, shift … */
  @IsOptional()
  @IsPlainText(64)
  subject_id?: string;
}

export interface EventPage {
  data: EventView[];
  /** Where to go on, also at the end: asked again with it, the list holds what has happened since. Null: nothing yet. */
  next_cursor: string | null;
  has_more: boolean;
}

/** With a filter so many are read for one page: a rare type must not make a request read the whole log. */
const READ_WITH_FILTER = 5_000;

/** GET /v1/events: oldest first; a client that follows the cursor misses nothing. */
@Injectable()
export class ListEvents {
  constructor(private readonly events: EventReader) {}

  /** @throws Problem 422 for a cursor that names no event of this log (any more) */
  async page(merchantId: string, query: EventsQuery): Promise<EventPage> {
    const limit = limitOf(query);
    const place = await this.placeOf(merchantId, query.cursor);
    const patterns = query.type?.split(',') ?? ['*'];
    const readLimit = query.type === undefined ? limit + 1 : READ_WITH_FILTER;
    const { rows, end } = await this.read({ merchantId, subjectId: query.subject_id }, place.position, readLimit);
    // Left between two statements: it would be taken for one behind which there is nothing.
    if (place.position !== 0n && rows.length === 0) await this.expectAt(merchantId, place);
    const wanted = rows.filter(({ type }) => wants(patterns, type));
    const isCut = wanted.length > limit;
    const hasMore = isCut || rows.length === readLimit;
    const page = wanted.slice(0, limit);
    const last = isCut ? page.at(-1) : hasMore ? rows.at(-1) : (end ?? rows.at(-1));
    return {
      data: page.map(eventView),
      next_cursor: last ? cursorOf(last) : (query.cursor ?? null),
      has_more: hasMore,
    };
  }

  /** @throws Problem 422 for a cursor that names no event of this log (any more) */
  async placeOf(merchantId: string, cursor: string | undefined): Promise<EventPlace> {
    if (cursor === undefined) return BEGINNING;
    const place = readEventCursor(cursor);
    if (!place) throw lostPlace();
    if (place.position !== 0n) await this.expectAt(merchantId, place);
    return place;
  }

  private async expectAt(merchantId: string, place: EventPlace): Promise<void> {
    if (!(await this.events.isAt(merchantId, place))) throw lostPlace();
  }

  /**
   * @returns of a subject also the end of the whole feed, up to which its events were read: who has read all of them goes on from there. The
   * last event of a subject that rests for months leaves, that of the feed does not
   */
  private async read(
    { merchantId, subjectId }: { merchantId: string; subjectId: string | undefined },
    after: bigint,
    limit: number,
  ): Promise<{ rows: EventRow[]; end: EventPlace | null }> {
    if (subjectId === undefined) return { rows: await this.events.readAfter(merchantId, after, limit), end: null };
    const end = await this.events.endBehind(merchantId, after);
    if (!end) return { rows: [], end };
    const between = { after, upTo: end.position };
    return { rows: await this.events.readOfSubject({ merchantId, subjectId }, between, limit), end };
  }
}

/** Also after an older database was put back: going on from a position that now belongs to something else would skip. */
function lostPlace(): Problem {
  return Problem.at('/cursor', 'invalid_value', 'cursor names no event of this log; begin again without one');
}
