import { Injectable } from '@nestjs/common';
import type { Origin } from '../limits/address-gate.js';
import { hashAccessToken, looksLikeAccessToken } from './access-token.js';
import { AccessTokens } from './access-tokens.js';
import { AuthenticateClient } from './authenticate-client.js';
import { OauthRepository } from './oauth.repository.js';
import type { AboutToken } from './token-request.js';

/** POST /oauth/revoke (RFC 7009): a client ends a token of its own. Other gateways are notified by the trigger of the row. */
@Injectable()
export class RevokeToken {
  constructor(
    private readonly authenticate: AuthenticateClient,
    private readonly repository: OauthRepository,
    private readonly accessTokens: AccessTokens,
  ) {}

  /** Unknown, foreign and ended tokens change nothing and say nothing. @throws OauthError; Problem 403 ip_not_allowed */
  async execute({ credentials, token }: AboutToken, origin: Origin): Promise<void> {
    const client = await this.authenticate.execute(credentials, origin);
    if (!looksLikeAccessToken(token)) return;
    const hash = hashAccessToken(token);
    await this.repository.revokeToken(hash, client.id);
    this.accessTokens.forget(hash);
  }
}
