import { Controller, Get, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../http/caller-gone.js';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import type { Page } from '../../http/paging.js';
import { OwnTurn, Scopes } from '../../http/scopes.js';
import { ReportGate } from './report-gate.js';
import { Reconciliation, type ReconciliationView } from './reconciliation.js';
import { ReconciliationQuery, TurnoverQuery } from './report-queries.js';
import { Turnover, type TurnoverView } from './turnover.js';

@Controller('v1/reports')
@Scopes('receipts:read')
export class ReportsController {
  constructor(
    private readonly turnovers: Turnover,
    private readonly reconciliations: Reconciliation,
    private readonly gate: ReportGate,
  ) {}

  @OwnTurn()
  @Get('turnover')
  turnover(
    @CurrentClient() { merchantId }: AuthenticatedClient,
    @Query() query: TurnoverQuery,
    @Req() request: FastifyRequest,
  ): Promise<TurnoverView> {
    return this.gate.run(merchantId, callerOf(request), () => this.turnovers.report(merchantId, query));
  }

  @OwnTurn()
  @Get('reconciliation')
  reconciliation(
    @CurrentClient() { merchantId }: AuthenticatedClient,
    @Query() query: ReconciliationQuery,
    @Req() request: FastifyRequest,
  ): Promise<Page<ReconciliationView>> {
    return this.gate.run(merchantId, callerOf(request), () => this.reconciliations.report(merchantId, query));
  }
}
