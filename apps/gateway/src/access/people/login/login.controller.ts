import { Body, Controller, Get, Header, HttpCode, Inject, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyLimit } from '#http';
import { Problem } from '#problems';
import { Answers } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { originOf } from '../../limits/address-gate.js';
import { Passkeys, type BrowserOptions } from '../credentials/passkeys.js';
import { LoginCookie } from '../login-cookie.js';
import { DescribeMe, type MeView } from '../me/me-view.js';
import { OpenSession, type Login } from '../sessions/open-session.js';
import { ConsolePagesOnly } from './console-pages-only.js';
import { LogIn } from './log-in.js';
import { CredentialBody, PasswordLoginBody } from './login-bodies.js';

export interface LoginMethodsView {
  /** The identity provider; null: none is set up. */
  oidc: { name: string } | null;
  /** Users of our own: password with code, or passkey. */
  embedded: boolean;
  passkeys: boolean;
}

export interface PasskeyOptionsView {
  /** For the browser's `navigator.credentials`. */
  options: BrowserOptions;
}

/** A passkey's answer with its pictures of certificates is far smaller. */
export const LOGIN_BODY_BYTES = 32 * 1024;

/** Where people log in (docs/users.md). Nothing here needs a session, everything a page of the console. */
@Controller('auth')
@UseGuards(ConsolePagesOnly)
export class LoginController {
  constructor(
    private readonly logIn: LogIn,
    private readonly passkeys: Passkeys,
    private readonly cookie: LoginCookie,
    private readonly sessions: OpenSession,
    private readonly describeMe: DescribeMe,
    @Inject(SETTINGS_TOKEN)
    private readonly settings: Pick<GatewaySettings, 'OIDC_ISSUER' | 'OIDC_NAME' | 'EMBEDDED_LOGIN'>,
  ) {}

  @Get('methods')
  @Header('cache-control', 'no-store')
  methods(): LoginMethodsView {
    const { OIDC_ISSUER, OIDC_NAME, EMBEDDED_LOGIN } = this.settings;
    const oidc = OIDC_ISSUER === undefined ? null : { name: OIDC_NAME };
    return { oidc, embedded: EMBEDDED_LOGIN, passkeys: EMBEDDED_LOGIN };
  }

  @Post('login')
  @HttpCode(200)
  @BodyLimit(LOGIN_BODY_BYTES)
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [200] })
  async password(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: PasswordLoginBody,
  ): Promise<MeView> {
    this.refuseUnlessEmbedded();
    const userId = await this.logIn.withPassword(body, originOf(request));
    return this.begin(request, reply, { userId, way: 'password' });
  }

  @Post('passkey/options')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [200] })
  async passkeyOptions(@Res({ passthrough: true }) reply: FastifyReply): Promise<PasskeyOptionsView> {
    this.refuseUnlessEmbedded();
    const options = await this.passkeys.useOptions(null);
    this.cookie.set(reply, { kind: 'passkey_login', challenge: String(options['challenge']), subject: '' });
    return { options };
  }

  @Post('passkey')
  @HttpCode(200)
  @BodyLimit(LOGIN_BODY_BYTES)
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [200] })
  async passkey(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() { credential }: CredentialBody,
  ): Promise<MeView> {
    this.refuseUnlessEmbedded();
    const begun = this.cookie.read(request, 'passkey_login');
    const take = async (): Promise<string | null> =>
      begun && (await this.cookie.take(begun.challenge)) ? begun.challenge : null;
    const userId = await this.logIn.withPasskey(credential, take, originOf(request));
    this.cookie.clear(reply);
    return this.begin(request, reply, { userId, way: 'passkey' });
  }

  private async begin(request: FastifyRequest, reply: FastifyReply, login: Login): Promise<MeView> {
    return this.describeMe.execute(await this.sessions.execute(request, reply, login));
  }

  private refuseUnlessEmbedded(): void {
    if (this.settings.EMBEDDED_LOGIN) return;
    throw new Problem('not_found', 'People log in at the identity provider alone (EMBEDDED_LOGIN).');
  }
}
