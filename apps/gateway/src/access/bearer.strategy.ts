import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport-http-bearer';
import type { Problem } from '#problems';
import { AccessTokens } from './oauth/access-tokens.js';
import { readBearerCredentials } from '../http/bearer-credentials.js';
import { invalidToken, malformedCredentials, noCredentials } from '../http/bearer-problems.js';
import type { KnownClient } from '../http/current-client.js';

/** What passport adds to a strategy for the length of one request. */
interface PassportActions {
  success: (user: KnownClient) => void;
  /** The challenge reaches the guard's `handleRequest` as `info`. */
  fail: (challenge: Problem) => void;
  error: (error: unknown) => void;
}

/**
 * passport-http-bearer with its reading of credentials replaced: the original also takes tokens from query and body,
 * and answers without a challenge (docs/adr/0004-opaque-tokens.md).
 */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(private readonly accessTokens: AccessTokens) {
    super({ realm: 'fiscal-gateway' });
  }

  /** Passport's entry. Its types speak of Express; the guard hands Fastify's request in. */
  override authenticate(request: unknown): void {
    const { raw, query } = request as FastifyRequest;
    // Passport lays these on the strategy right before this call, for this request only; the next request's overwrite
    // them while our token is still being looked up. They are taken now, or this client would answer that request.
    const { success, fail, error } = this as unknown as PassportActions;
    const credentials = readBearerCredentials(raw.rawHeaders, query);
    switch (credentials.kind) {
      case 'none':
        fail(noCredentials());
        return;
      case 'malformed':
        fail(malformedCredentials(credentials.reason));
        return;
      case 'token':
        this.validate(credentials.token).then(
          (client) => {
            if (client) success(client);
            else fail(invalidToken());
          },
          (reason: unknown) => {
            error(reason);
          },
        );
    }
  }

  validate(token: string): Promise<KnownClient | null> {
    return this.accessTokens.find(token);
  }
}
