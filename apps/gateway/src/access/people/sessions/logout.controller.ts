import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { idTokenOwner, PrismaService } from '#database';
import { Answers } from '#runtime';
import { open } from '#secrets';
import { CurrentPerson, type Person } from '../../../http/current-client.js';
import { ForPeople, SignedIn } from '../../../http/scopes.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { IdentityProvider } from '../oidc/identity-provider.js';
import { OpenSession } from './open-session.js';

export interface LogoutView {
  /** Where the browser logs out at the identity provider; null: nothing more is to be done. */
  redirect_url: string | null;
}

/** The end of a session by its user. */
@Controller('v1/session')
@SignedIn()
@ForPeople({ atTerminal: true })
export class LogoutController {
  constructor(
    private readonly prisma: PrismaService,
    private readonly sessions: OpenSession,
    private readonly provider: IdentityProvider,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  @Post('logout')
  @HttpCode(200)
  @Answers({ statuses: [200] })
  async logout(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @CurrentPerson() person: Person,
  ): Promise<LogoutView> {
    const { sessionId } = person;
    const row = await this.prisma.userSession.findFirst({ where: { id: sessionId }, select: { idTokenSealed: true } });
    await this.sessions.end(request, reply, person);
    void reply.header('clear-site-data', '"cache", "storage"');
    const sealed = row?.idTokenSealed ?? null;
    if (sealed === null) return { redirect_url: null };
    const idToken = open(sealed, idTokenOwner(sessionId), this.settings.SECRETS_KEY);
    return { redirect_url: await this.provider.logoutUrl(idToken) };
  }
}
