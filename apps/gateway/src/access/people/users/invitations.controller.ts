import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../../audit/caller.js';
import { ownId } from '../../../http/own-id.js';
import { PageQuery, type Page } from '../../../http/paging.js';
import { Scopes, StepUp } from '../../../http/scopes.js';
import {
  Invitations,
  type InvitationView,
  type InvitationWithLinkView,
  type RoleGiver,
} from '../invitations/invitations.js';
import { CurrentGiver } from './current-giver.js';
import { InvitationBody } from './user-bodies.js';

/** Links by which people become users of the merchant. */
@Controller('v1/invitations')
export class InvitationsController {
  constructor(private readonly invitations: Invitations) {}

  @Get()
  @Scopes('users:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: PageQuery): Promise<Page<InvitationView>> {
    return this.invitations.list(merchantId, query);
  }

  @Post()
  @Scopes('users:admin')
  @StepUp()
  @HttpCode(201)
  create(@CurrentGiver() giver: RoleGiver, @Body() body: InvitationBody): Promise<InvitationWithLinkView> {
    return this.invitations.invite(giver, body);
  }

  @Delete(':id')
  @Scopes('users:admin')
  @StepUp()
  @HttpCode(204)
  withdraw(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.invitations.withdraw(caller, ownId('inv', id, 'invitation'));
  }
}
