import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../audit/caller.js';
import { ownId } from '../http/own-id.js';
import { PageQuery } from '../http/paging.js';
import { FourEyes, Scopes, StepUp } from '../http/scopes.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { receiptView, type ReceiptView } from '../receipts/receipt-view.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';
import { readDecision } from './decision.js';
import { ListUnknown, type UnknownView } from './list-unknown.js';
import { ReasonBody, ResolveBody } from './operator-bodies.js';
import { ParkAttempt } from './park-attempt.js';
import { ResolveAttempt } from './resolve-attempt.js';

interface AttemptAnswer {
  attempt_id: string;
  receipt: ReceiptView;
  /** Only of a duplicate: the refund that takes the surplus document back; null: none is possible. */
  refund_id?: string | null;
}

/** What a person decides about receipts (docs/architecture.md). */
@Controller('v1/operator')
@Scopes('operator:resolve')
export class OperatorController {
  constructor(
    private readonly listUnknown: ListUnknown,
    private readonly resolveAttempt: ResolveAttempt,
    private readonly parkAttempt: ParkAttempt,
    private readonly receipts: ReceiptRepository,
    private readonly urls: ReceiptUrls,
  ) {}

  @Get('unknown')
  @Scopes('operator:read')
  unknown(
    @CurrentCaller() caller: Caller,
    @Query() query: PageQuery,
  ): Promise<{ data: UnknownView[]; next_cursor: string | null }> {
    return this.listUnknown.execute(caller.merchantId, query);
  }

  @Post('attempts/:id/resolve')
  @StepUp()
  @FourEyes('unknown')
  @HttpCode(200)
  async resolve(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ResolveBody,
  ): Promise<AttemptAnswer> {
    const attemptId = ownId('att', id, 'attempt');
    const decision = readDecision(body);
    const { receiptId, refundId } = await this.resolveAttempt.execute({ caller, attemptId, decision });
    const answer = await this.answer(caller, attemptId, receiptId);
    return decision.kind === 'duplicate' ? { ...answer, refund_id: refundId } : answer;
  }

  @Post('attempts/:id/park')
  @StepUp()
  @HttpCode(200)
  async park(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ReasonBody,
  ): Promise<AttemptAnswer> {
    const attemptId = ownId('att', id, 'attempt');
    const { receiptId } = await this.parkAttempt.execute({ caller, attemptId, reason: body.reason.trim() });
    return this.answer(caller, attemptId, receiptId);
  }

  private async answer({ merchantId }: Caller, attemptId: string, receiptId: string): Promise<AttemptAnswer> {
    const row = await this.receipts.find(merchantId, receiptId);
    if (!row) throw new Error(`receipt ${receiptId} has vanished`);
    return { attempt_id: attemptId, receipt: receiptView(row, this.urls.urlOf(row.id)) };
  }
}
