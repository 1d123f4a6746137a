import { Body, Controller, Get, Patch } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { FourEyes, Scopes } from '../../http/scopes.js';
import { MerchantPatch } from './merchant-bodies.js';
import { Merchants, type MerchantView } from './merchants.js';

/** The caller's own merchant: there is no path to another one. */
@Controller('v1/merchant')
@Scopes('devices:admin')
export class MerchantController {
  constructor(private readonly merchants: Merchants) {}

  @Get()
  @Scopes('devices:read')
  get(@CurrentCaller() { merchantId }: Caller): Promise<MerchantView> {
    return this.merchants.get(merchantId);
  }

  @Patch()
  @FourEyes('four_eyes')
  change(@CurrentCaller() caller: Caller, @Body() patch: MerchantPatch): Promise<MerchantView> {
    return this.merchants.change(caller, patch);
  }
}
