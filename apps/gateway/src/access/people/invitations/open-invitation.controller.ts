import { Body, Controller, Header, HttpCode, Inject, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyLimit } from '#http';
import { Problem } from '#problems';
import { Answers } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { ConsolePagesOnly } from '../login/console-pages-only.js';
import { AcceptInvitationBody, InvitationTokenBody } from '../login/login-bodies.js';
import { LOGIN_BODY_BYTES } from '../login/login.controller.js';
import { LoginCookie } from '../login-cookie.js';
import { DescribeMe, type MeView } from '../me/me-view.js';
import { OpenSession, userCaller } from '../sessions/open-session.js';
import { AcceptInvitation, type OpenInvitationView } from './accept-invitation.js';

/** The page behind an invitation's link. */
@Controller('auth/invitation')
@UseGuards(ConsolePagesOnly)
export class OpenInvitationController {
  constructor(
    private readonly acceptInvitation: AcceptInvitation,
    private readonly cookie: LoginCookie,
    private readonly sessions: OpenSession,
    private readonly describeMe: DescribeMe,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'EMBEDDED_LOGIN'>,
  ) {}

  @Post()
  @HttpCode(200)
  @BodyLimit(LOGIN_BODY_BYTES)
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [200] })
  async show(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() { token }: InvitationTokenBody,
  ): Promise<OpenInvitationView> {
    const { shown, begun } = await this.acceptInvitation.show(token, this.cookie.read(request, 'invited'));
    this.cookie.set(reply, { kind: 'invited', ...begun });
    return shown;
  }

  @Post('accept')
  @HttpCode(200)
  @BodyLimit(LOGIN_BODY_BYTES)
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [200] })
  async accept(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: AcceptInvitationBody,
  ): Promise<MeView> {
    if (!this.settings.EMBEDDED_LOGIN)
      throw new Problem('not_found', 'Invitations are opened at the identity provider alone (EMBEDDED_LOGIN).');
    const begun = this.cookie.read(request, 'invited');
    const { actor: _actor, ...caller } = userCaller(request, '');
    const { userId, way } = await this.acceptInvitation.execute(body, begun, caller);
    this.cookie.clear(reply);
    return this.describeMe.execute(await this.sessions.execute(request, reply, { userId, way }));
  }
}
