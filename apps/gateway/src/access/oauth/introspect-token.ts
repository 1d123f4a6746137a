import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../limits/address-gate.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { hashAccessToken, looksLikeAccessToken } from './access-token.js';
import { AuthenticateClient } from './authenticate-client.js';
import { issuerOf } from './issuer.js';
import { OauthRepository } from './oauth.repository.js';
import type { AboutToken } from './token-request.js';

/** RFC 7662 §2.2. */
export type Introspection =
  | { active: false }
  | {
      active: true;
      /** Space-separated: what the token allows now, after any change of its client. */
      scope: string;
      client_id: string;
      sub: string;
      token_type: 'Bearer';
      /** Seconds since 1970. */
      exp: number;
      iat: number;
      iss: string;
    };

/** POST /oauth/introspect: describes the client's own tokens; every other one is not active for it. */
@Injectable()
export class IntrospectToken {
  private readonly issuer: string;

  constructor(
    private readonly authenticate: AuthenticateClient,
    private readonly repository: OauthRepository,
    @Inject(SETTINGS_TOKEN) { PUBLIC_URL }: Pick<GatewaySettings, 'PUBLIC_URL'>,
  ) {
    this.issuer = issuerOf(PUBLIC_URL).issuer;
  }

  /** @throws OauthError; Problem 403 ip_not_allowed */
  async execute({ credentials, token }: AboutToken, origin: Origin): Promise<Introspection> {
    const client = await this.authenticate.execute(credentials, origin);
    const row = looksLikeAccessToken(token) ? await this.repository.findLiveToken(hashAccessToken(token)) : null;
    if (row?.clientId !== client.id) return { active: false };
    return {
      active: true,
      scope: row.scopes.join(' '),
      client_id: client.id,
      sub: client.id,
      token_type: 'Bearer',
      exp: Math.floor(row.expiresAtMs / 1_000),
      iat: Math.floor(row.issuedAtMs / 1_000),
      iss: this.issuer,
    };
  }
}
