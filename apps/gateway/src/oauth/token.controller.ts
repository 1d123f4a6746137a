import { Controller, Header, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AcceptsForm } from '#runtime';
import { IssueToken, type TokenAnswer } from './issue-token.js';
import { OauthErrorFilter } from './oauth-error.js';
import { readTokenRequest } from './token-request.js';

/** The token endpoint (RFC 6749, client credentials). */
@Controller('oauth')
@UseFilters(OauthErrorFilter)
export class TokenController {
  constructor(private readonly issueToken: IssueToken) {}

  @Post('token')
  @HttpCode(200)
  @AcceptsForm()
  @Header('cache-control', 'no-store')
  @Header('pragma', 'no-cache')
  token(@Req() request: FastifyRequest): Promise<TokenAnswer> {
    return this.issueToken.execute(readTokenRequest(request.headers.authorization, request.body));
  }
}
