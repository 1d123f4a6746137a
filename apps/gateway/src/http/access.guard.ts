import { Injectable, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard, type IAuthModuleOptions } from '@nestjs/passport';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#runtime';
import { ClientLimit } from '../limits/client-limit.js';
import { FailedTokens } from '../limits/failed-logins.js';
import { secondsToWait } from '../limits/limit-headers.js';
import { SignatureGate } from '../signing/signature-gate.js';
import { AddressGate, originOf } from './address-gate.js';
import { insufficientScope } from './bearer-problems.js';
import { BearerStrategy } from './bearer.strategy.js';
import { CLIENT_PROPERTY, clientOf, type KnownClient } from './current-client.js';
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
    private readonly reflector: Reflector,
    private readonly addresses: AddressGate,
    private readonly signatures: SignatureGate,
    private readonly limit: ClientLimit,
    private readonly failures: FailedTokens,
  ) {
    // The instance instead of its name: passport keeps names in one global table, and a process may hold two gateways.
    super({ defaultStrategy: strategy as unknown as string, property: CLIENT_PROPERTY } satisfies IAuthModuleOptions);
  }

  /**
   * The checks, in this order; each throws its own refusal. Two came before them, when the request's head was there and its
   * body not yet: that the peer has an address, and the limit per address (limits/address-limit.ts).
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const needed = this.scopesOf(context, request);
    if (!needed) return true;
    const client = await this.authenticate(context, request);
    await this.addresses.check(client, originOf(request));
    await this.signatures.check(request, client);
    if (!needed.every((scope) => client.scopes.includes(scope))) throw insufficientScope(needed);
    await this.limit.check(client.clientId, http.getResponse<FastifyReply>());
    return true;
  }

  /** Passport's verdict: `info` is the problem that the strategy failed with. */
  override handleRequest<Client>(error: unknown, client: Client | false | null, info: unknown): Client {
    if (client) return client;
    if (error instanceof Error) throw error;
    if (info instanceof Problem) throw info;
    throw new Error('the bearer strategy gave no reason', { cause: error ?? info });
  }

  /** Null: a public route. */
  private scopesOf(context: ExecutionContext, request: FastifyRequest): Scope[] | null {
    const needed = this.reflector.getAllAndOverride<Scope[] | undefined>(SCOPES_METADATA, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (needed) return needed;
    if (this.reflector.get<boolean | undefined>(OWN_AUTHENTICATION, context.getHandler()) === true) return null;
    const route = request.routeOptions.url ?? '';
    if (route.startsWith('/v1')) throw new Error(`${request.method} ${route} has no @Scopes`);
    return null;
  }

  /** The bearer token's client, if both are in force. */
  private async authenticate(context: ExecutionContext, request: FastifyRequest): Promise<KnownClient> {
    try {
      await super.canActivate(context);
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_token') await this.slowDown(request.ip);
      throw error;
    }
    const client = clientOf(request);
    if (!client) throw new Error('passport let a request in without its client');
    return client;
  }
  /** Only after the token was looked at: a good one is never refused because of a neighbour's. */
  private async slowDown(address: string): Promise<void> {
    const verdict = await this.failures.count(address);
    if (verdict.kind === 'open') return;
    throw new Problem('too_many_requests', 'Too many access tokens from this address were invalid.', {
      headers: { 'retry-after': String(secondsToWait(verdict.retryInMs)) },
    });
  }
}
