import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import type { Administrator } from '../clients/client-administrator.js';
import { CurrentAdministrator } from '../clients/current-administrator.js';
import { ownId } from '../../http/own-id.js';
import { PageQuery, type Page } from '../../http/paging.js';
import { Scopes, StepUp } from '../../http/scopes.js';
import { ClientKeyBody } from './client-key-bodies.js';
import type { ClientKeyView, NewClientKeyView } from './client-key-view.js';
import { CreateClientKey } from './create-client-key.js';
import { DisableClientKey } from './disable-client-key.js';
import { ListClientKeys } from './list-client-keys.js';

/** With what a client signs its requests, and proves itself at the token endpoint (docs/signing.md). */
@Controller('v1/clients/:id/keys')
@Scopes('clients:admin')
export class ClientKeysController {
  constructor(
    private readonly createClientKey: CreateClientKey,
    private readonly disableClientKey: DisableClientKey,
    private readonly listClientKeys: ListClientKeys,
  ) {}

  @Get()
  @Scopes('clients:read')
  list(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<ClientKeyView>> {
    return this.listClientKeys.execute(merchantId, ownId('cli', id, 'client'), query);
  }

  @Post()
  @StepUp()
  @HttpCode(201)
  create(
    @CurrentAdministrator() administrator: Administrator,
    @Param('id') id: string,
    @Body() body: ClientKeyBody,
  ): Promise<NewClientKeyView> {
    return this.createClientKey.execute(administrator, ownId('cli', id, 'client'), body);
  }

  @Delete(':key')
  @StepUp()
  @HttpCode(204)
  disable(
    @CurrentAdministrator() administrator: Administrator,
    @Param('id') id: string,
    @Param('key') key: string,
  ): Promise<void> {
    return this.disableClientKey.execute(administrator, ownId('cli', id, 'client'), ownId('key', key, 'key'));
  }
}
