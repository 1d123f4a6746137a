import { Controller, Header, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AcceptsForm } from '#http';
import { originOf } from '../limits/address-gate.js';
import { authorizationValues } from '../../http/authorization-header.js';
import { IntrospectToken, type Introspection } from './introspect-token.js';
import { IssueToken, type TokenAnswer } from './issue-token.js';
import { OauthError, OauthErrorFilter } from './oauth-error.js';
import { RevokeToken } from './revoke-token.js';
import { readAboutToken, readTokenRequest } from './token-request.js';

/** The token endpoint (RFC 6749, client credentials) and its neighbours: all three authenticate the client alike. */
@Controller('oauth')
@UseFilters(OauthErrorFilter)
export class TokenController {
  constructor(
    private readonly issueToken: IssueToken,
    private readonly revokeToken: RevokeToken,
    private readonly introspectToken: IntrospectToken,
  ) {}

  @Post('token')
  @HttpCode(200)
  @AcceptsForm()
  @Header('cache-control', 'no-store')
  @Header('pragma', 'no-cache')
  token(@Req() request: FastifyRequest): Promise<TokenAnswer> {
    return this.issueToken.execute(readTokenRequest(authorizationOf(request), request.body), originOf(request));
  }

  @Post('revoke')
  @HttpCode(200)
  @AcceptsForm()
  @Header('cache-control', 'no-store')
  async revoke(@Req() request: FastifyRequest): Promise<Record<string, never>> {
    await this.revokeToken.execute(readAboutToken(authorizationOf(request), request.body), originOf(request));
    // RFC 7009 gives the body no meaning; simple-oauth2 fails when it is no JSON.
    return {};
  }

  @Post('introspect')
  @HttpCode(200)
  @AcceptsForm()
  @Header('cache-control', 'no-store')
  introspect(@Req() request: FastifyRequest): Promise<Introspection> {
    return this.introspectToken.execute(readAboutToken(authorizationOf(request), request.body), originOf(request));
  }
}

/** Two of them are two ways to authenticate, and a proxy in between might have checked the other one. */
function authorizationOf({ raw }: FastifyRequest): string | undefined {
  const [value, ...more] = authorizationValues(raw.rawHeaders);
  if (more.length > 0) throw new OauthError('invalid_request', 'Send one Authorization header.');
  return value;
}
