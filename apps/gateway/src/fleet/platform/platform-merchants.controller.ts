import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ClientBody } from '../../access/clients/client-bodies.js';
import type { ClientWithSecretView } from '../../access/clients/client-view.js';
import { CreateClient } from '../../access/clients/create-client.js';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { ownId } from '../../http/own-id.js';
import type { Page } from '../../http/paging.js';
import { MERCHANT_SCOPES, OverMerchants, Scopes, StepUp } from '../../http/scopes.js';
import {
  PlatformMerchantBody,
  PlatformMerchantPatch,
  PlatformMerchantsQuery,
  SuspendBody,
  UsageQuery,
} from './platform-bodies.js';
import { PlatformMerchants, type PlatformMerchantView, type UsageView } from './platform-merchants.js';

/** All merchants of this installation, for who runs it. */
@Controller('v1/platform/merchants')
@Scopes('platform:admin')
@OverMerchants()
export class PlatformMerchantsController {
  constructor(
    private readonly merchants: PlatformMerchants,
    private readonly createClient: CreateClient,
  ) {}

  @Get()
  @Scopes('platform:read')
  list(@Query() query: PlatformMerchantsQuery): Promise<Page<PlatformMerchantView>> {
    return this.merchants.list(query);
  }

  @Post()
  create(@CurrentCaller() caller: Caller, @Body() body: PlatformMerchantBody): Promise<PlatformMerchantView> {
    return this.merchants.create(caller, body);
  }

  @Get(':id')
  @Scopes('platform:read')
  get(@Param('id') id: string): Promise<PlatformMerchantView> {
    return this.merchants.get(merchantId(id));
  }

  @Patch(':id')
  change(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() patch: PlatformMerchantPatch,
  ): Promise<PlatformMerchantView> {
    return this.merchants.change(caller, merchantId(id), patch);
  }

  /** The merchant accepts nothing any more; what it has accepted is finished. */
  @Post(':id/suspend')
  @HttpCode(200)
  suspend(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: SuspendBody,
  ): Promise<PlatformMerchantView> {
    return this.merchants.suspend(caller, merchantId(id), reason);
  }

  @Post(':id/resume')
  @HttpCode(200)
  resume(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<PlatformMerchantView> {
    return this.merchants.resume(caller, merchantId(id));
  }

  /** What the merchant used, by month of Tashkent. */
  @Get(':id/usage')
  @Scopes('platform:read')
  async usage(@Param('id') id: string, @Query() query: UsageQuery): Promise<Page<UsageView>> {
    return { data: await this.merchants.usage(merchantId(id), query), next_cursor: null };
  }

  /** The merchant's first client, or one for it when it has shut itself out. Its secret is shown once. */
  @Post(':id/clients')
  @StepUp()
  async client(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ClientBody,
  ): Promise<ClientWithSecretView> {
    const merchant = await this.merchants.get(merchantId(id));
    return this.createClient.execute({ ...caller, merchantId: merchant.id, scopes: MERCHANT_SCOPES }, body);
  }
}

function merchantId(id: string): string {
  return ownId('mer', id, 'merchant');
}
