import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { ownId } from '../../http/own-id.js';
import type { Page } from '../../http/paging.js';
import { Scopes } from '../../http/scopes.js';
import { ArchivableQuery } from '../places/place-bodies.js';
import { CashierBody, CashierPatch } from './cashier-bodies.js';
import { Cashiers, type CashierView } from './cashiers.js';

@Controller('v1/cashiers')
@Scopes('devices:admin')
export class CashiersController {
  constructor(private readonly cashiers: Cashiers) {}

  @Get()
  @Scopes('devices:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: ArchivableQuery): Promise<Page<CashierView>> {
    return this.cashiers.list(merchantId, query);
  }

  @Post()
  @HttpCode(201)
  create(@CurrentCaller() caller: Caller, @Body() body: CashierBody): Promise<CashierView> {
    return this.cashiers.create(caller, body);
  }

  @Get(':id')
  @Scopes('devices:read')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<CashierView> {
    return this.cashiers.get(merchantId, ownId('csh', id, 'cashier'));
  }

  @Patch(':id')
  change(@CurrentCaller() caller: Caller, @Param('id') id: string, @Body() patch: CashierPatch): Promise<CashierView> {
    return this.cashiers.change(caller, ownId('csh', id, 'cashier'), patch);
  }

  /** Archives it. */
  @Delete(':id')
  @HttpCode(200)
  archive(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<CashierView> {
    return this.cashiers.archive(caller, ownId('csh', id, 'cashier'));
  }

  @Post(':id/restore')
  @HttpCode(200)
  restore(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<CashierView> {
    return this.cashiers.restore(caller, ownId('csh', id, 'cashier'));
  }
}
