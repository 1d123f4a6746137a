import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ClientLimit } from './limits/client-limit.js';
import { SignatureGate } from './signing/signature-gate.js';
import { FourEyesGate } from './people/approvals/four-eyes-gate.js';
import { hasAccessToken, TOKEN_ELSEWHERE } from '../http/bearer-credentials.js';
import { malformedCredentials } from '../http/bearer-problems.js';
import { clientOf } from '../http/current-client.js';
import { isOpenToSuspended, neededScopes } from '../http/scopes.js';
import { SuspendedMerchants } from './suspended-merchants.js';

/**
 * Stands before every handler, behind the request gate: a route that needs scopes needs the client that the gate has left on
 * the request. Here are the checks that need the body, or come after one that does.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly signatures: SignatureGate,
    private readonly limit: ClientLimit,
    private readonly suspended: SuspendedMerchants,
    private readonly fourEyes: FourEyesGate,
  ) {}

  /** The checks, in this order; each throws its own refusal (docs/access.md). */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (!neededScopes(request)) return true;
    const client = clientOf(request);
    if (!client) throw new Error('a request has passed the request gate without its client');
    if (hasAccessToken(request.body)) throw malformedCredentials(TOKEN_ELSEWHERE);
    // A browser signs nothing: what a signature is for, the origin and the cookie are.
    if (!client.person) await this.signatures.check(request, client);
    await this.limit.check(client.clientId, http.getResponse<FastifyReply>());
    if (!isOpenToSuspended(request)) this.suspended.check(client.merchantId);
    await this.fourEyes.check(context, client);
    return true;
  }
}
