import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ownId } from '../../../http/own-id.js';
import type { Page } from '../../../http/paging.js';
import { AlsoWhenSuspended, ForPeople, SignedIn, StepUp } from '../../../http/scopes.js';
import type { RoleGiver } from '../invitations/invitations.js';
import { CurrentGiver } from '../users/current-giver.js';
import { ApprovalQuery } from './approval-query.js';
import { Approvals, type ApprovalView } from './approvals.js';

/** Requests that wait for a second user (four eyes, docs/users.md). */
@Controller('v1/approvals')
@SignedIn({ ofMerchant: true })
@ForPeople()
export class ApprovalsController {
  constructor(private readonly approvals: Approvals) {}

  @Get()
  list(@CurrentGiver() giver: RoleGiver, @Query() query: ApprovalQuery): Promise<Page<ApprovalView>> {
    return this.approvals.list(giver, query);
  }

  @Post(':id/approve')
  @HttpCode(200)
  @StepUp()
  @AlsoWhenSuspended()
  approve(@CurrentGiver() giver: RoleGiver, @Param('id') id: string): Promise<ApprovalView> {
    return this.approvals.decide(giver, ownId('apr', id, 'approval'), 'approved');
  }

  @Post(':id/refuse')
  @HttpCode(200)
  @StepUp()
  @AlsoWhenSuspended()
  refuse(@CurrentGiver() giver: RoleGiver, @Param('id') id: string): Promise<ApprovalView> {
    return this.approvals.decide(giver, ownId('apr', id, 'approval'), 'refused');
  }
}
