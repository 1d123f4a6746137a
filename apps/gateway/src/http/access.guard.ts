import { Injectable, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard, type IAuthModuleOptions } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Problem } from '#runtime';
import { insufficientScope } from './bearer-problems.js';
import { BearerStrategy } from './bearer.strategy.js';
import { CLIENT_PROPERTY, clientOf } from './current-client.js';
import { SignatureGate } from '../signing/signature-gate.js';
import { OWN_AUTHENTICATION, SCOPES_METADATA, type Scope } from './scopes.js';

/**
 * Stands before every handler. A route with `@Scopes` needs a token with these scopes; a route below /v1 without
 * `@Scopes` is a mistake of ours and stays closed, unless its handler says that it authenticates its callers itself;
 * everything else (token endpoint, probes) is public.
 */
@Injectable()
export class AccessGuard extends AuthGuard() {
  constructor(
    strategy: BearerStrategy,
    private readonly signatures: SignatureGate,
    private readonly reflector: Reflector,
  ) {
    // The instance instead of its name: passport keeps names in one global table, and a process may hold two gateways.
    super({ defaultStrategy: strategy as unknown as string, property: CLIENT_PROPERTY } satisfies IAuthModuleOptions);
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const needed = this.reflector.getAllAndOverride<Scope[] | undefined>(SCOPES_METADATA, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (!needed) {
      const route = request.routeOptions.url ?? '';
      if (this.reflector.get<boolean | undefined>(OWN_AUTHENTICATION, context.getHandler()) === true) return true;
      if (route.startsWith('/v1')) throw new Error(`${request.method} ${route} has no @Scopes`);
      return true;
    }
    await super.canActivate(context);
    const client = clientOf(request);
    if (client) await this.signatures.check(request, client);
    const granted = client?.scopes ?? [];
    if (needed.every((scope) => granted.includes(scope))) return true;
    throw insufficientScope(needed);
  }

  /** Passport's verdict: `info` is the problem that the strategy failed with. */
  override handleRequest<Client>(error: unknown, client: Client | false | null, info: unknown): Client {
    if (client) return client;
    if (error instanceof Error) throw error;
    if (info instanceof Problem) throw info;
    throw new Error('the bearer strategy gave no reason', { cause: error ?? info });
  }
}
