import { Controller, Get, Query } from '@nestjs/common';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import type { Page } from '../http/paging.js';
import { Scopes } from '../http/scopes.js';
import { Reconciliation, type ReconciliationView } from './reconciliation.js';
import { ReconciliationQuery, TurnoverQuery } from './report-queries.js';
import { Turnover, type TurnoverView } from './turnover.js';

@Controller('v1/reports')
@Scopes('receipts:read')
export class ReportsController {
  constructor(
    private readonly turnovers: Turnover,
    private readonly reconciliations: Reconciliation,
  ) {}

  @Get('turnover')
  turnover(@CurrentClient() { merchantId }: AuthenticatedClient, @Query() query: TurnoverQuery): Promise<TurnoverView> {
    return this.turnovers.report(merchantId, query);
  }

  @Get('reconciliation')
  reconciliation(
    @CurrentClient() { merchantId }: AuthenticatedClient,
    @Query() query: ReconciliationQuery,
  ): Promise<Page<ReconciliationView>> {
    return this.reconciliations.report(merchantId, query);
  }
}
