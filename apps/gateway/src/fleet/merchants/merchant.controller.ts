import { Body, Controller, Get, Patch, Put } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { FourEyes, Scopes } from '../../http/scopes.js';
import { Brands, type BrandView } from './brands.js';
import { BrandBody, MerchantPatch } from './merchant-bodies.js';
import { Merchants, type MerchantView } from './merchants.js';

/** The caller's own merchant: there is no path to another one. */
@Controller('v1/merchant')
@Scopes('devices:admin')
export class MerchantController {
  constructor(
    private readonly merchants: Merchants,
    private readonly brands: Brands,
  ) {}

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

  /** What stands on receipts beside what the law asks for. */
  @Get('brand')
  @Scopes('receipts:read')
  brand(@CurrentCaller() { merchantId }: Caller): Promise<BrandView> {
    return this.brands.get(merchantId);
  }

  @Put('brand')
  changeBrand(@CurrentCaller() caller: Caller, @Body() body: BrandBody): Promise<BrandView> {
    return this.brands.change(caller, body);
  }
}
