import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PrismaService } from '#database';
import { Problem } from '#problems';
import { Invitations, type InvitationRow } from '../invitations/invitations.js';
import { LoginCookie, type LoginTransaction } from '../login-cookie.js';
import { OpenSession, userCaller } from '../sessions/open-session.js';
import { RenewSession } from '../sessions/renew-session.js';
import { IdentityProvider, type Identity } from './identity-provider.js';
import { OidcUsers, type LoginError } from './oidc-users.js';

/** Where a callback ends. */
export type CallbackOutcome = { kind: 'done'; returnTo: string } | { kind: 'refused'; error: LoginError };

/** Nothing was proven. */
export const FAILED: CallbackOutcome = { kind: 'refused', error: 'login_failed' };

type Begun = Extract<LoginTransaction, { kind: 'oidc' }>;

/** A second factor that was shown at the identity provider. */
@Injectable()
export class StepUpByOidc {
  constructor(
    private readonly prisma: PrismaService,
    private readonly users: OidcUsers,
    private readonly renewal: RenewSession,
  ) {}

  /** Only by the same user, for the session that began it while it is there: the redirect itself brings no Strict cookie. */
  async execute(
    request: FastifyRequest,
    reply: FastifyReply,
    { begun: { stepUpOf, shownHash, returnTo }, identity }: { begun: Begun; identity: Identity },
  ): Promise<CallbackOutcome> {
    const userId = await this.users.known(identity);
    const where = { id: stepUpOf ?? '', userId: userId ?? '', revokedAt: null, expiresAt: { gt: new Date() } };
    const session = await this.prisma.userSession.findFirst({ where, select: { id: true } });
    if (userId === null || !session) return { kind: 'refused', error: 'login_refused' };
    const caller = { ...userCaller(request, userId), sessionId: session.id };
    const shown = { how: 'identity provider', atProvider: identity };
    const renewing = { caller, sessionId: session.id, shownHash: Buffer.from(shownHash, 'hex'), reply };
    try {
      // One whose secret has changed meanwhile was stepped up elsewhere: the browser that has the new one goes on with it.
      await this.renewal.execute(renewing, shown);
      return { kind: 'done', returnTo };
    } catch (error) {
      // Nothing was done in it for too long, meanwhile.
      if (error instanceof Problem && error.code === 'session_invalid')
        return { kind: 'refused', error: 'login_refused' };
      throw error;
    }
  }
}

/** The provider has sent the browser back. What began in another browser, or has been here before, is refused. */
@Injectable()
export class FinishOidc {
  constructor(
    private readonly provider: IdentityProvider,
    private readonly users: OidcUsers,
    private readonly cookie: LoginCookie,
    private readonly sessions: OpenSession,
    private readonly invitations: Invitations,
    private readonly stepUp: StepUpByOidc,
  ) {}

  /** Whether a login was begun in this browser. */
  hasBegun(request: FastifyRequest): boolean {
    return this.cookie.read(request, 'oidc') !== null;
  }

  async execute(request: FastifyRequest, reply: FastifyReply): Promise<CallbackOutcome> {
    const begun = this.cookie.read(request, 'oidc');
    this.cookie.clear(reply);
    if (!begun) return FAILED;
    if (!(await this.cookie.take(begun.state))) return FAILED;
    const at = request.url.indexOf('?');
    const query = at < 0 ? '' : request.url.slice(at + 1);
    const isStepUp = begun.stepUpOf !== null;
    const identity = await this.provider.finish(query, { ...begun, isStepUp });
    if (!identity) return FAILED;
    return isStepUp
      ? this.stepUp.execute(request, reply, { begun, identity })
      : this.logIn(request, reply, { begun, identity });
  }

  private async logIn(
    request: FastifyRequest,
    reply: FastifyReply,
    { begun, identity }: { begun: Begun; identity: Identity },
  ): Promise<CallbackOutcome> {
    const invitation = begun.invitation === null ? null : await this.invitationOf(begun.invitation);
    const { actor: _actor, ...caller } = userCaller(request, '');
    const found = await this.users.resolve(identity, invitation, caller);
    if (found.kind === 'refused') return found;
    const { idToken, sid } = identity;
    try {
      await this.sessions.execute(request, reply, { userId: found.userId, way: 'oidc', idToken, sid });
    } catch (error) {
      // The user was disabled at this moment: a browser that comes back from its provider is led to the login.
      if (error instanceof Problem && error.code === 'session_invalid')
        return { kind: 'refused', error: 'login_refused' };
      throw error;
    }
    return { kind: 'done', returnTo: begun.returnTo };
  }

  /** Null: it was used meanwhile; then the login counts alone. */
  private async invitationOf(token: string): Promise<InvitationRow | null> {
    try {
      return await this.invitations.find(token);
    } catch (error) {
      if (error instanceof Problem) return null;
      throw error;
    }
  }
}
