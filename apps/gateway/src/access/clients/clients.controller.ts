import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query, Req } from '@nestjs/common';
import { Takes } from '#runtime';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { optionalBody } from '../../http/optional-body.js';
import { ownId } from '../../http/own-id.js';
import type { Page } from '../../http/paging.js';
import { Scopes, StepUp } from '../../http/scopes.js';
import { ChangeClient } from './change-client.js';
import type { Administrator } from './client-administrator.js';
import { ClientBody, ClientPatch, ClientQuery, RotateSecretBody } from './client-bodies.js';
import type { ClientView, ClientWithSecretView } from './client-view.js';
import { Clients } from './clients.js';
import { CreateClient } from './create-client.js';
import { CurrentAdministrator } from './current-administrator.js';
import { RotateSecret } from './rotate-secret.js';
import { SwitchClient } from './switch-client.js';

/** The merchant's own clients (docs/access.md). */
@Controller('v1/clients')
@Scopes('clients:admin')
export class ClientsController {
  constructor(
    private readonly clients: Clients,
    private readonly createClient: CreateClient,
    private readonly changeClient: ChangeClient,
    private readonly rotateSecret: RotateSecret,
    private readonly switchClient: SwitchClient,
  ) {}

  @Get()
  @Scopes('clients:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: ClientQuery): Promise<Page<ClientView>> {
    return this.clients.list(merchantId, query);
  }

  @Post()
  @StepUp()
  @HttpCode(201)
  create(
    @CurrentAdministrator() administrator: Administrator,
    @Body() body: ClientBody,
  ): Promise<ClientWithSecretView> {
    return this.createClient.execute(administrator, body);
  }

  @Get(':id')
  @Scopes('clients:read')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<ClientView> {
    return this.clients.get(merchantId, ownId('cli', id, 'client'));
  }

  @Patch(':id')
  @StepUp()
  change(
    @CurrentAdministrator() administrator: Administrator,
    @Param('id') id: string,
    @Body() patch: ClientPatch,
  ): Promise<ClientView> {
    return this.changeClient.execute(administrator, ownId('cli', id, 'client'), patch);
  }

  @Post(':id/secret')
  @StepUp()
  @HttpCode(200)
  @Takes(RotateSecretBody)
  rotate(
    @CurrentAdministrator() administrator: Administrator,
    @Param('id') id: string,
    @Req() { body }: { body?: unknown },
  ): Promise<ClientWithSecretView> {
    return this.rotateSecret.execute(administrator, ownId('cli', id, 'client'), optionalBody(body, RotateSecretBody));
  }

  @Post(':id/disable')
  @HttpCode(200)
  disable(@CurrentAdministrator() administrator: Administrator, @Param('id') id: string): Promise<ClientView> {
    return this.switchClient.disable(administrator, ownId('cli', id, 'client'));
  }

  @Post(':id/enable')
  @StepUp()
  @HttpCode(200)
  enable(@CurrentAdministrator() administrator: Administrator, @Param('id') id: string): Promise<ClientView> {
    return this.switchClient.enable(administrator, ownId('cli', id, 'client'));
  }
}
