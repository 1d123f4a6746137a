import { Injectable } from '@nestjs/common';
import { Refusals } from '../../audit/refusals.js';
import type { Origin } from '../limits/address-gate.js';
import { TokenLimit } from '../limits/token-limit.js';
import { ACCESS_TOKEN_SECONDS, hashAccessToken, newAccessToken } from './access-token.js';
import { AuthenticateClient } from './authenticate-client.js';
import { OauthError, slowDown } from './oauth-error.js';
import { OauthRepository, type ClientRow } from './oauth.repository.js';
import type { TokenRequest } from './token-request.js';

/** RFC 6749 §5.1. */
export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. */
  expires_in: number;
  /** Space-separated. */
  scope: string;
}

@Injectable()
export class IssueToken {
  constructor(
    private readonly authenticate: AuthenticateClient,
    private readonly repository: OauthRepository,
    private readonly limit: TokenLimit,
    private readonly refusals: Refusals,
  ) {}

  /** @throws OauthError as RFC 6749 §5.2 says, `slow_down`; Problem 403 ip_not_allowed */
  async execute(request: TokenRequest, origin: Origin): Promise<TokenAnswer> {
    const client = await this.authenticate.execute(request.credentials, origin);
    if (request.grantType !== 'client_credentials') {
      throw new OauthError('unsupported_grant_type', 'Only client_credentials is supported.');
    }
    const scopes = grantedScopes(client, request.scopes);
    await this.refuseTooMany(client, origin);
    const token = newAccessToken(client.id);
    await this.repository.insertToken({
      hash: hashAccessToken(token),
      clientId: client.id,
      scopes,
      seconds: ACCESS_TOKEN_SECONDS,
    });
    return { access_token: token, token_type: 'Bearer', expires_in: ACCESS_TOKEN_SECONDS, scope: scopes.join(' ') };
  }

  private async refuseTooMany({ id: clientId, merchantId }: ClientRow, origin: Origin): Promise<void> {
    const verdict = await this.limit.take(clientId);
    if (verdict.kind === 'open') return;
    const refusal = { clientId, merchantId, action: 'client.refuse_token', reason: 'too_many_tokens' };
    await this.refusals.record({ ...refusal, ...origin }, 'one');
    const description = 'Too many tokens for this client: use each until it expires. Wait as Retry-After says.';
    throw slowDown(verdict.retryInMs, description);
  }
}

function grantedScopes(client: ClientRow, asked: readonly string[] | null): readonly string[] {
  if (!asked) return client.scopes;
  if (asked.every((scope) => client.scopes.includes(scope))) return asked;
  throw new OauthError('invalid_scope', 'A scope is unknown or not allowed for this client.');
}
