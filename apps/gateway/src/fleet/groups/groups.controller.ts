import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { ownId } from '../../http/own-id.js';
import type { Page } from '../../http/paging.js';
import { Scopes } from '../../http/scopes.js';
import { ArchivableQuery, PlaceBody, PlacePatch } from '../places/place-bodies.js';
import type { PlaceView } from '../places/place-register.js';
import { Groups } from './groups.js';

@Controller('v1/groups')
@Scopes('devices:admin')
export class GroupsController {
  constructor(private readonly groups: Groups) {}

  @Get()
  @Scopes('devices:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: ArchivableQuery): Promise<Page<PlaceView>> {
    return this.groups.list(merchantId, query);
  }

  @Post()
  @HttpCode(201)
  create(@CurrentCaller() caller: Caller, @Body() body: PlaceBody): Promise<PlaceView> {
    return this.groups.create(caller, body);
  }

  @Get(':id')
  @Scopes('devices:read')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<PlaceView> {
    return this.groups.get(merchantId, ownId('grp', id, 'group'));
  }

  @Patch(':id')
  change(@CurrentCaller() caller: Caller, @Param('id') id: string, @Body() patch: PlacePatch): Promise<PlaceView> {
    return this.groups.change(caller, ownId('grp', id, 'group'), patch);
  }

  /** Archives it. */
  @Delete(':id')
  @HttpCode(200)
  archive(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<PlaceView> {
    return this.groups.archive(caller, ownId('grp', id, 'group'));
  }

  @Post(':id/restore')
  @HttpCode(200)
  restore(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<PlaceView> {
    return this.groups.restore(caller, ownId('grp', id, 'group'));
  }
}
