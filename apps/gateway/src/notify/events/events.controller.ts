import { Controller, Get, Query } from '@nestjs/common';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import { Scopes } from '../../http/scopes.js';
import { EventsQuery, ListEvents, type EventPage } from './list-events.js';

@Controller('v1/events')
@Scopes('receipts:read')
export class EventsController {
  constructor(private readonly events: ListEvents) {}

  @Get()
  list(@CurrentClient() { merchantId }: AuthenticatedClient, @Query() query: EventsQuery): Promise<EventPage> {
    return this.events.page(merchantId, query);
  }
}
