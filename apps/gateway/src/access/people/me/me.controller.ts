import { Body, Controller, Get, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { BodyLimit } from '#http';
import { callerOfRequest, CurrentCaller, type Caller } from '../../../audit/caller.js';
import { clientOf } from '../../../http/current-client.js';
import { ForPeople, SignedIn, StepUp } from '../../../http/scopes.js';
import { originOf } from '../../limits/address-gate.js';
import { AuthenticatePerson } from '../authenticate-person.js';
import type { TotpOffer } from '../credentials/second-factors.js';
import { AcceptInvitation } from '../invitations/accept-invitation.js';
import { CodeBody, InvitationTokenBody, NewPasswordBody } from '../login/login-bodies.js';
import { LOGIN_BODY_BYTES } from '../login/login.controller.js';
import { aboutUser } from '../sessions/sessions.controller.js';
import { ChangeFactors } from './change-factors.js';
import { DescribeMe, type MeView } from './me-view.js';
import { sessionEnded } from '../sessions/renew-session.js';

export interface ClientMeView {
  kind: 'client';
  client_id: string;
  merchant_id: string;
  scopes: string[];
}

/** Who calls, and what it may do. */
@Controller('v1/me')
@SignedIn()
export class MeController {
  constructor(
    private readonly people: AuthenticatePerson,
    private readonly describeMe: DescribeMe,
    private readonly factors: ChangeFactors,
    private readonly invitations: AcceptInvitation,
  ) {}

  @Get()
  async me(@Req() request: FastifyRequest): Promise<MeView | ClientMeView> {
    const client = clientOf(request);
    if (client && !client.person) {
      const { clientId, merchantId, scopes } = client;
      return { kind: 'client', client_id: clientId, merchant_id: merchantId, scopes: [...scopes] };
    }
    return this.view(request, await this.people.sessionOf(request));
  }

  @Post('password')
  @HttpCode(200)
  @ForPeople()
  @StepUp()
  @BodyLimit(LOGIN_BODY_BYTES)
  async password(@Req() request: FastifyRequest, @Body() body: NewPasswordBody): Promise<MeView> {
    const passwords = { current: body.current, next: body.new };
    await this.factors.setPassword(aboutUser(callerOfRequest(request)), passwords, originOf(request));
    return this.view(request, await this.people.freshSessionOf(request));
  }

  @Post('totp/begin')
  @HttpCode(200)
  @ForPeople()
  @StepUp()
  beginTotp(@CurrentCaller() caller: Caller): Promise<TotpOffer> {
    return this.factors.offerTotp(caller);
  }

  @Post('totp')
  @HttpCode(200)
  @ForPeople()
  @StepUp()
  async confirmTotp(@Req() request: FastifyRequest, @Body() { code }: CodeBody): Promise<MeView> {
    await this.factors.confirmTotp(aboutUser(callerOfRequest(request)), code);
    return this.view(request, await this.people.freshSessionOf(request));
  }

  @Post('invitations')
  @HttpCode(200)
  @ForPeople()
  async join(@Req() request: FastifyRequest, @Body() { token }: InvitationTokenBody): Promise<MeView> {
    const session = await this.people.sessionOf(request);
    if (!session) throw sessionEnded();
    await this.invitations.join(token, callerOfRequest(request), session);
    return this.view(request, await this.people.freshSessionOf(request));
  }

  private async view(
    request: FastifyRequest,
    session: Awaited<ReturnType<AuthenticatePerson['sessionOf']>>,
  ): Promise<MeView> {
    const client = clientOf(request);
    if (!session || !client?.person) throw sessionEnded();
    return this.describeMe.execute(session, { ...client, roles: client.person.roles });
  }
}
