import { Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../../audit/caller.js';
import { CurrentPerson, type Person } from '../../../http/current-client.js';
import { ownId } from '../../../http/own-id.js';
import { PageQuery, type Page } from '../../../http/paging.js';
import { PLATFORM } from '../../../http/roles.js';
import { ForPeople, SignedIn } from '../../../http/scopes.js';
import { OwnSessions, type SessionView } from './list-sessions.js';

export interface RevokedSessionsView {
  revoked: number;
}

/** The own sessions of a user. */
@Controller('v1/sessions')
@SignedIn()
@ForPeople({ atTerminal: true })
export class SessionsController {
  constructor(private readonly sessions: OwnSessions) {}

  @Get()
  list(@CurrentPerson() person: Person, @Query() query: PageQuery): Promise<Page<SessionView>> {
    return this.sessions.list(person, query);
  }

  @Delete(':id')
  @HttpCode(204)
  revoke(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.sessions.revoke(aboutUser(caller), ownId('ses', id, 'session'));
  }

  @Post('revoke-others')
  @HttpCode(200)
  async revokeOthers(@CurrentCaller() caller: Caller): Promise<RevokedSessionsView> {
    return { revoked: await this.sessions.revokeOthers(aboutUser(caller)) };
  }
}

/** What a user does about itself concerns no merchant. */
export function aboutUser(caller: Caller): Caller {
  return { ...caller, merchantId: PLATFORM };
}
