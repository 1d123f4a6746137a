import { Injectable } from '@nestjs/common';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { IsPlainText } from '../../http/query-rules.js';
import { AreEventPatterns } from './event-patterns.js';
import { EventReader } from './event-reader.js';
import type { EventStream } from './event-stream.js';
import { EventStreams, type StreamOwner } from './event-streams.js';
import { ListEvents } from './list-events.js';

export class EventStreamQuery {
  /** Patterns joined by commas: `receipt.registered`, `receipt.*`. */
  @IsOptional()
  @AreEventPatterns()
  type?: string;

  /** What the events are about: a receipt, refund, payment, device, shift … */
  @IsOptional()
  @IsPlainText(64)
  subject_id?: string;

  /** Where to begin: a `next_cursor` of the list. The header `Last-Event-ID` comes before it; without both: from now on. */
  @IsOptional()
  @IsString()
  @MaxLength(100)
  cursor?: string;
}

/** GET /v1/events/stream: the feed as server-sent events. */
@Injectable()
export class StreamEvents {
  constructor(
    private readonly list: ListEvents,
    private readonly events: EventReader,
    private readonly streams: EventStreams,
  ) {}

  /** @throws Problem 422 for a cursor that names no event; 429 where too many are open */
  async open(
    owner: StreamOwner,
    { query, lastEventId, mayGoOn }: { query: EventStreamQuery; lastEventId: string; mayGoOn: () => Promise<boolean> },
  ): Promise<EventStream> {
    const cursor = lastEventId === '' ? query.cursor : lastEventId;
    const place =
      cursor === undefined
        ? await this.events.end(owner.merchantId)
        : await this.list.placeOf(owner.merchantId, cursor);
    return this.streams.begin(owner, {
      place,
      patterns: query.type?.split(',') ?? ['*'],
      subjectId: query.subject_id ?? null,
      mayGoOn,
    });
  }
}
