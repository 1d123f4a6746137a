import { Controller, Get, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../http/caller-gone.js';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import { OverMerchants, OwnTurn, Scopes } from '../../http/scopes.js';
import type { Overview, PlatformOverview } from './overview-view.js';
import { ReadPlatformOverview } from './read-platform-overview.js';
import { ReadOverview } from './read-overview.js';

@Controller('v1/overview')
@Scopes('receipts:read')
@OwnTurn()
export class OverviewController {
  constructor(private readonly overview: ReadOverview) {}

  /** Counts and sums of today and the last 30 days, how long registering takes, and what runs out next. */
  @Get()
  read(@CurrentClient() { merchantId }: AuthenticatedClient, @Req() request: FastifyRequest): Promise<Overview> {
    return this.overview.execute(merchantId, callerOf(request));
  }
}

/** The same for who runs the installation. */
@Controller('v1/platform/overview')
@Scopes('platform:read')
@OverMerchants()
@OwnTurn()
export class PlatformOverviewController {
  constructor(private readonly overview: ReadPlatformOverview) {}

  /** Counts and sums of all live merchants, today and in the last 30 days. */
  @Get()
  read(@Req() request: FastifyRequest): Promise<PlatformOverview> {
    return this.overview.execute(callerOf(request));
  }
}
