import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { AddressLimit } from './limits/address-limit.js';
import { AddressGate, originOf } from './limits/address-gate.js';
import { Authenticate } from './authenticate.js';
import { insufficientScope } from '../http/bearer-problems.js';
import { neededScopes, type Scope } from '../http/scopes.js';

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
    const client = await this.authenticate.execute(request, reply);
    await this.addresses.check(client, originOf(request));
    if (!needed.every((scope) => client.scopes.includes(scope))) throw insufficientScope(needed);
  }
}
