import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { ownId } from '../../http/own-id.js';
import type { Page } from '../../http/paging.js';
import { Scopes } from '../../http/scopes.js';
import { ArchivableQuery } from '../places/place-bodies.js';
import { BranchBody, BranchPatch } from './branch-bodies.js';
import { Branches, type BranchView } from './branches.js';

@Controller('v1/branches')
@Scopes('devices:admin')
export class BranchesController {
  constructor(private readonly branches: Branches) {}

  @Get()
  @Scopes('devices:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: ArchivableQuery): Promise<Page<BranchView>> {
    return this.branches.list(merchantId, query);
  }

  @Post()
  @HttpCode(201)
  create(@CurrentCaller() caller: Caller, @Body() body: BranchBody): Promise<BranchView> {
    return this.branches.create(caller, body);
  }

  @Get(':id')
  @Scopes('devices:read')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<BranchView> {
    return this.branches.get(merchantId, ownId('brn', id, 'branch'));
  }

  @Patch(':id')
  change(@CurrentCaller() caller: Caller, @Param('id') id: string, @Body() patch: BranchPatch): Promise<BranchView> {
    return this.branches.change(caller, ownId('brn', id, 'branch'), patch);
  }

  /** Archives it. */
  @Delete(':id')
  @HttpCode(200)
  archive(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<BranchView> {
    return this.branches.archive(caller, ownId('brn', id, 'branch'));
  }

  @Post(':id/restore')
  @HttpCode(200)
  restore(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<BranchView> {
    return this.branches.restore(caller, ownId('brn', id, 'branch'));
  }
}
