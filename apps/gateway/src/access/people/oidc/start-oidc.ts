import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { AuthenticatePerson } from '../authenticate-person.js';
import { Invitations } from '../invitations/invitations.js';
import type { OidcStartBody } from '../login/login-bodies.js';
import { LoginCookie } from '../login-cookie.js';
import { IdentityProvider } from './identity-provider.js';

/** A login, or a second factor, at the identity provider begins. */
@Injectable()
export class StartOidc {
  constructor(
    private readonly provider: IdentityProvider,
    private readonly cookie: LoginCookie,
    private readonly people: AuthenticatePerson,
    private readonly invitations: Invitations,
  ) {}

  /** @returns where the browser goes @throws Problem 401 session_invalid for a step-up without a session; 404; 503 */
  async execute(
    request: FastifyRequest,
    reply: FastifyReply,
    { returnTo, body }: { returnTo: string; body: OidcStartBody },
  ): Promise<string> {
    const isStepUp = body.step_up === true;
    // A command line has no cookie that a step-up could renew.
    const isBrowser = request.headers.authorization === undefined;
    const session = isStepUp && isBrowser ? await this.people.sessionOf(request) : null;
    if (isStepUp && !session) throw new Problem('session_invalid', 'Only a session can step up. Log in.');
    if (body.invitation !== undefined) await this.invitations.find(body.invitation);
    const { url, state, nonce, verifier } = await this.provider.begin(isStepUp);
    this.cookie.set(reply, {
      ...{ kind: 'oidc', state, nonce, verifier, returnTo },
      stepUpOf: session?.sessionId ?? null,
      shownHash: session ? this.people.sessionHashOf(request).toString('hex') : '',
      invitation: body.invitation ?? null,
    });
    return url.href;
  }
}
