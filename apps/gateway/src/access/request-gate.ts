import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { insufficientScope } from '../http/bearer-problems.js';
import { setClient, type KnownClient } from '../http/current-client.js';
import { PLATFORM } from '../http/roles.js';
import { holdsScope, neededScopes, type RouteAccess, type Scope } from '../http/scopes.js';
import { Authenticate } from './authenticate.js';
import { AddressGate, originOf } from './limits/address-gate.js';
import { AddressLimit } from './limits/address-limit.js';
import { AuthenticatePerson, merchantNeeded } from './people/authenticate-person.js';

/**
 * Everything that can be decided about a request without its body, before a byte of the body is parsed: what comes from
 * unauthenticated callers costs no more than its head. The checks that need the body are those of the access guard.
 */
@Injectable()
export class RequestGate implements OnModuleInit {
  constructor(
    private readonly server: HttpAdapterHost,
    private readonly addressLimit: AddressLimit,
    private readonly authenticate: Authenticate,
    private readonly authenticatePerson: AuthenticatePerson,
    private readonly addresses: AddressGate,
  ) {}

  onModuleInit(): void {
    const fastify = this.server.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onRequest', (request, reply) => this.check(request, reply));
  }

  /** The checks, in this order; each throws its own refusal (docs/access.md). */
  private async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.addressLimit.check(request, reply);
    const needed = neededScopes(request);
    if (needed) await this.admit(needed, request, reply);
  }

  /** Whether a request whose answer goes on for long would still be let in: its token lives, from its address, with its scopes. */
  async stillAdmits(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    try {
      await this.admit(neededScopes(request) ?? [], request, reply);
      return true;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  }

  private async admit(needed: readonly Scope[], request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const client = await this.callerOf(request, reply);
    await this.addresses.check(client, originOf(request));
    refuseWithout(needed, client, request.routeOptions.config);
  }

  /** A session gives the same principal as a token: no route is written twice. */
  private async callerOf(request: FastifyRequest, reply: FastifyReply): Promise<KnownClient> {
    if (!this.authenticatePerson.applies(request)) return this.authenticate.execute(request, reply);
    const client = await this.authenticatePerson.execute(request).catch((error: unknown) => {
      if (!(error instanceof Problem && error.code === 'session_invalid')) throw error;
      return this.authenticate.slowDown(request.ip).then(() => Promise.reject(error));
    });
    setClient(request, client);
    return client;
  }
}

/** @throws Problem 403 insufficient_scope, session_needed, step_up_needed; 400 merchant_needed */
function refuseWithout(needed: readonly Scope[], client: KnownClient, access: RouteAccess): void {
  const { person, scopes, merchantId } = client;
  if (access.forPeople === true && !person) {
    throw new Problem('session_needed', 'Only a person who has logged in may do this, no client.');
  }
  if (access.forPeople === true && person?.isAtTerminal === true && access.atTerminal !== true) {
    throw new Problem('session_needed', 'This is done in the console, not at a command line.');
  }
  if (!needed.every((scope) => holdsScope(scopes, scope))) {
    const isNowhere = person !== undefined && merchantId === PLATFORM && access.overMerchants !== true;
    throw isNowhere && person.roles.length > 0 ? merchantNeeded() : insufficientScope(needed);
  }
  if (access.stepUp === true && person && (person.stepUpUntilMs ?? 0) <= Date.now()) {
    const how = person.isAtTerminal ? 'log in again: fgw login --browser' : 'POST /v1/session/step-up';
    throw new Problem('step_up_needed', `Show a second factor (${how}), then ask again.`);
  }
}
