import { Injectable } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { AuthGuard, type IAuthModuleOptions } from '@nestjs/passport';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { FailedTokens } from './limits/failed-logins.js';
import { secondsToWait } from './limits/limit-headers.js';
import { BearerStrategy } from './bearer.strategy.js';
import { CLIENT_PROPERTY, clientOf, type KnownClient } from '../http/current-client.js';

/** Finds the client of a request's bearer token. It reads the request's head alone, and leaves the client on the request. */
@Injectable()
export class Authenticate extends AuthGuard() {
  constructor(
    strategy: BearerStrategy,
    private readonly failures: FailedTokens,
  ) {
    // The instance instead of its name: passport keeps names in one global table, and a process may hold two gateways.
    super({ defaultStrategy: strategy as unknown as string, property: CLIENT_PROPERTY } satisfies IAuthModuleOptions);
  }

  /** @throws Problem 400 invalid_request, 401 unauthenticated or invalid_token, 429 too_many_requests */
  async execute(request: FastifyRequest, reply: FastifyReply): Promise<KnownClient> {
    try {
      await this.canActivate(new ExecutionContextHost([request, reply]));
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_token') await this.slowDown(request.ip);
      throw error;
    }
    const client = clientOf(request);
    if (!client) throw new Error('passport let a request in without its client');
    return client;
  }

  /** Passport's verdict: `info` is the problem that the strategy failed with. */
  override handleRequest<Client>(error: unknown, client: Client | false | null, info: unknown): Client {
    if (client) return client;
    if (error instanceof Error) throw error;
    if (info instanceof Problem) throw info;
    throw new Error('the bearer strategy gave no reason', { cause: error ?? info });
  }

  /**
   * Only after the token was read: a good one is never refused because of a neighbour's.
   * @throws Problem 429 too_many_requests
   */
  async slowDown(address: string): Promise<void> {
    const verdict = await this.failures.begin('token', address);
    if (verdict.kind === 'open') return;
    throw new Problem('too_many_requests', 'Too many access tokens from this address were invalid.', {
      retryAfterSeconds: secondsToWait(verdict.retryInMs),
    });
  }
}
