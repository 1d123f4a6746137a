import { Body, Controller, Get, Header, HttpCode, Inject, Post, Req, Res, UseFilters, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AcceptsForm, BodyLimit } from '#http';
import { Problem } from '#problems';
import { Answers } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { originOf } from '../../limits/address-gate.js';
import { FailedTokens } from '../../limits/failed-logins.js';
import { readFormParameters } from '../../oauth/form-parameters.js';
import { OauthError, OauthErrorFilter } from '../../oauth/oauth-error.js';
import { consoleAddress, type ConsoleAddress } from '../console-address.js';
import { ConsolePagesOnly } from '../login/console-pages-only.js';
import { OidcStartBody } from '../login/login-bodies.js';
import { LOGIN_BODY_BYTES } from '../login/login.controller.js';
import { BackChannelLogout } from './back-channel-logout.js';
import { FAILED, FinishOidc, type CallbackOutcome } from './finish-oidc.js';
import { returnPath } from './return-path.js';
import { StartOidc } from './start-oidc.js';

export interface RedirectView {
  /** Where the browser goes now. */
  redirect_url: string;
}

/** Login at the identity provider: authorization code with PKCE (docs/users.md). */
@Controller('auth/oidc')
export class OidcController {
  private readonly address: ConsoleAddress;

  constructor(
    private readonly startOidc: StartOidc,
    private readonly finishOidc: FinishOidc,
    private readonly backChannelLogout: BackChannelLogout,
    private readonly failures: FailedTokens,
    @Inject(SETTINGS_TOKEN) settings: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL'>,
  ) {
    this.address = consoleAddress(settings);
  }

  @Post('start')
  @HttpCode(200)
  @UseGuards(ConsolePagesOnly)
  @BodyLimit(LOGIN_BODY_BYTES)
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [200] })
  async start(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: OidcStartBody,
  ): Promise<RedirectView> {
    const { origin, url } = this.address;
    const returnTo = returnPath(body.return_to ?? new URL(url).pathname, origin);
    if (returnTo === null) {
      const detail = 'return_to must be a path of the console, such as /console/receipts';
      throw Problem.at('/return_to', 'invalid_format', detail);
    }
    return { redirect_url: await this.startOidc.execute(request, reply, { returnTo, body }) };
  }

  /** The identity provider sends the browser here. It goes on to where the login began, or back to the login. */
  @Get('callback')
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [303], mediaTypes: ['text/plain'] })
  async callback(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const outcome = await this.counted(request, () => this.finishOidc.execute(request, reply));
    const { origin, url } = this.address;
    const location = outcome.kind === 'done' ? `${origin}${outcome.returnTo}` : `${url}/login?error=${outcome.error}`;
    await reply.status(303).header('location', location).type('text/plain').send('');
  }

  /**
   * Strangers make us write a row and ask the provider only as often as their address may be wrong. What has no cookie of a login costs
   * nothing and counts nothing: any page can have its visitors come here.
   */
  private async counted(request: FastifyRequest, finish: () => Promise<CallbackOutcome>): Promise<CallbackOutcome> {
    if (!this.finishOidc.hasBegun(request)) return FAILED;
    if ((await this.failures.begin('callback', request.ip)).kind === 'wait') return FAILED;
    const forgive = (): Promise<void> => this.failures.forgive('callback', request.ip);
    const outcome = await finish().catch(async (error: unknown) => {
      // Nothing was found out: the provider is away.
      await forgive();
      throw error;
    });
    if (outcome !== FAILED) await forgive();
    return outcome;
  }

  /** The identity provider says that a person has logged out there (OpenID Connect Back-Channel Logout 1.0). */
  @Post('backchannel-logout')
  @HttpCode(200)
  @AcceptsForm()
  @UseFilters(OauthErrorFilter)
  @Header('cache-control', 'no-store')
  async logout(@Req() request: FastifyRequest): Promise<Record<string, never>> {
    const token = readFormParameters(request.body).get('logout_token');
    if (token === undefined) throw new OauthError('invalid_request', 'logout_token is missing.');
    await this.backChannelLogout.execute(token, originOf(request));
    return {};
  }
}
