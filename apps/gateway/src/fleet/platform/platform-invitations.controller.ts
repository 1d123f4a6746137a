import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  Invitations,
  type InvitationView,
  type InvitationWithLinkView,
} from '../../access/people/invitations/invitations.js';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { ownId } from '../../http/own-id.js';
import { PageQuery, type Page } from '../../http/paging.js';
import { MERCHANT_SCOPES, OverMerchants, Scopes, StepUp } from '../../http/scopes.js';
import { PlatformInvitationBody } from './platform-bodies.js';
import { PlatformMerchants } from './platform-merchants.js';

/** How the owner of a new merchant comes in: a link from the platform. */
@Controller('v1/platform/merchants/:id/invitations')
@Scopes('platform:admin')
@OverMerchants()
export class PlatformInvitationsController {
  constructor(
    private readonly merchants: PlatformMerchants,
    private readonly invitations: Invitations,
  ) {}

  /** Open ones. */
  @Get()
  @Scopes('platform:read')
  async list(@Param('id') id: string, @Query() query: PageQuery): Promise<Page<InvitationView>> {
    return this.invitations.list(await this.existing(id), query);
  }

  /** The link is shown once. */
  @Post()
  @StepUp()
  async create(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() { email, roles = ['owner'] }: PlatformInvitationBody,
  ): Promise<InvitationWithLinkView> {
    const merchantId = await this.existing(id);
    return this.invitations.invite({ ...caller, merchantId, scopes: MERCHANT_SCOPES, roles: [] }, { email, roles });
  }

  @Delete(':invitationId')
  @StepUp()
  @HttpCode(204)
  async withdraw(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Param('invitationId') invitationId: string,
  ): Promise<void> {
    const merchantId = await this.existing(id);
    await this.invitations.withdraw({ ...caller, merchantId }, ownId('inv', invitationId, 'open invitation'));
  }

  /** @throws Problem 404 */
  private async existing(id: string): Promise<string> {
    return (await this.merchants.get(ownId('mer', id, 'merchant'))).id;
  }
}
