import { Controller, Get, Param, Query } from '@nestjs/common';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import { ownId } from '../../http/own-id.js';
import { Scopes } from '../../http/scopes.js';
import { ReadTimeline, TimelineQuery, type Timeline } from './read-timeline.js';

@Controller('v1/receipts')
@Scopes('receipts:read')
export class TimelineController {
  constructor(private readonly timeline: ReadTimeline) {}

  /**
   * What has happened to a receipt or refund, oldest first: accepted, each attempt with what it came to, moves, refunds, its payment
   * with the calls in both directions, events, and what was delivered of them.
   */
  @Get(':id/timeline')
  read(
    @CurrentClient() { merchantId }: AuthenticatedClient,
    @Param('id') id: string,
    @Query() query: TimelineQuery,
  ): Promise<Timeline> {
    return this.timeline.execute(merchantId, ownId('rcp', id, 'receipt'), query);
  }
}
