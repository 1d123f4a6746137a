import { Inject, Injectable } from '@nestjs/common';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { ACCESS_TOKEN_SECONDS, hashAccessToken, newAccessToken } from './access-token.js';
import { isClientSecret, NO_SECRET_HASH } from './client-secret.js';
import { OauthError } from './oauth-error.js';
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
    private readonly repository: OauthRepository,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** @throws OauthError as RFC 6749 §5.2 says */
  async execute(request: TokenRequest): Promise<TokenAnswer> {
    const client = await this.authenticate(request);
    if (request.grantType !== 'client_credentials') {
      throw new OauthError('unsupported_grant_type', 'Only client_credentials is supported.');
    }
    const scopes = grantedScopes(client, request.scopes);
    const token = newAccessToken();
    await this.repository.insertToken({
      hash: hashAccessToken(token),
      clientId: client.id,
      scopes,
      seconds: ACCESS_TOKEN_SECONDS,
    });
    return { access_token: token, token_type: 'Bearer', expires_in: ACCESS_TOKEN_SECONDS, scope: scopes.join(' ') };
  }

  /** Unknown, disabled and wrong secret are one answer, at the same cost. */
  private async authenticate({ clientId, clientSecret }: TokenRequest): Promise<ClientRow> {
    // PostgreSQL cannot store NUL, so no client has such an id.
    const client = clientId.includes('\0') ? null : await this.repository.findClient(clientId);
    const isRight = isClientSecret(clientSecret, client?.secretHash ?? NO_SECRET_HASH, this.settings.SECRETS_KEY);
    if (!client || !isRight || client.disabled) {
      throw new OauthError('invalid_client', 'The client is unknown or its secret is wrong.');
    }
    return client;
  }
}

function grantedScopes(client: ClientRow, asked: readonly string[] | null): readonly string[] {
  if (!asked) return client.scopes;
  if (asked.every((scope) => client.scopes.includes(scope))) return asked;
  throw new OauthError('invalid_scope', 'A scope is unknown or not allowed for this client.');
}
