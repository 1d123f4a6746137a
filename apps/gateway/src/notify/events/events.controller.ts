import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Answers } from '#runtime';
import { RequestGate } from '../../access/request-gate.js';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import { OwnTurn, Scopes } from '../../http/scopes.js';
import { EventsQuery, ListEvents, type EventPage } from './list-events.js';
import { EventStreamQuery, StreamEvents } from './stream-events.js';

@Controller('v1/events')
@Scopes('receipts:read')
export class EventsController {
  constructor(
    private readonly events: ListEvents,
    private readonly streams: StreamEvents,
    private readonly gate: RequestGate,
  ) {}

  @Get()
  list(@CurrentClient() { merchantId }: AuthenticatedClient, @Query() query: EventsQuery): Promise<EventPage> {
    return this.events.page(merchantId, query);
  }

  /**
   * The same as they come, as server-sent events. Each frame has the cursor behind it as its `id`: a client that connects again with
   * it as `Last-Event-ID`, to whichever gateway, misses nothing and gets nothing twice.
   */
  @OwnTurn()
  @Get('stream')
  @Answers({ statuses: [200], mediaTypes: ['text/event-stream'] })
  async stream(
    @CurrentClient() client: AuthenticatedClient,
    @Query() query: EventStreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    void reply.headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      // nginx hands each frame on as it comes.
      'x-accel-buffering': 'no',
    });
    if (request.method === 'HEAD') return void (await reply.send(''));
    const mayGoOn = (): Promise<boolean> => this.gate.stillAdmits(request, reply);
    const lastEventId = String(request.headers['last-event-id'] ?? '');
    await reply.send(await this.streams.open(client, { query, lastEventId, mayGoOn }));
  }
}
