import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../../audit/caller.js';
import { ownId } from '../../../http/own-id.js';
import { PageQuery, type Page } from '../../../http/paging.js';
import { Scopes, StepUp } from '../../../http/scopes.js';
import type { RoleGiver } from '../invitations/invitations.js';
import { CurrentGiver } from './current-giver.js';
import { RolesBody } from './user-bodies.js';
import { Users, type UserView } from './users.js';

/** The users of the merchant; without a merchant those of the platform. */
@Controller('v1/users')
export class UsersController {
  constructor(private readonly users: Users) {}

  @Get()
  @Scopes('users:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: PageQuery): Promise<Page<UserView>> {
    return this.users.list(merchantId, query);
  }

  @Get(':id')
  @Scopes('users:read')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<UserView> {
    return this.users.get(merchantId, ownId('usr', id, 'user'));
  }

  @Patch(':id')
  @Scopes('users:admin')
  @StepUp()
  change(@CurrentGiver() giver: RoleGiver, @Param('id') id: string, @Body() { roles }: RolesBody): Promise<UserView> {
    return this.users.setRoles(giver, ownId('usr', id, 'user'), roles);
  }

  @Delete(':id')
  @Scopes('users:admin')
  @StepUp()
  @HttpCode(204)
  remove(@CurrentGiver() giver: RoleGiver, @Param('id') id: string): Promise<void> {
    return this.users.remove(giver, ownId('usr', id, 'user'));
  }
}
