import { Injectable } from '@nestjs/common';
import type { KnownClient } from '../../http/current-client.js';
import { AccessNotices } from '../live/access-notices.js';
import { textOfHash, TrustedCache, type Found } from '../live/trusted-cache.js';
import { hashAccessToken, looksLikeAccessToken } from './access-token.js';
import { OauthRepository } from './oauth.repository.js';

/** Which client an access token belongs to. What was taken away counts for nothing within a second (TrustedCache). */
@Injectable()
export class AccessTokens {
  private readonly cache: TrustedCache<Buffer, KnownClient>;

  constructor(
    notices: AccessNotices,
    private readonly repository: OauthRepository,
  ) {
    this.cache = new TrustedCache(notices, textOfHash, (hash) => this.read(hash));
    notices.subscribe({
      onNotice: ({ what, name }) => this.receive(what, name),
      onListening: () => this.cache.forgetAll(),
    });
  }

  /** The client of a usable token, else `null`. Rejects when the database cannot be asked. */
  find(token: string): Promise<KnownClient | null> {
    return this.cache.find(hashAccessToken(token), looksLikeAccessToken(token));
  }

  /** Drops one token, by the SHA-256 that the database holds. */
  forget(tokenHash: Uint8Array): void {
    this.cache.forget(Buffer.from(tokenHash));
  }

  /** Drops all tokens of a client (disabled, scopes or policies changed). */
  forgetClient(clientId: string): void {
    this.cache.forgetWhere((client) => client.clientId === clientId);
  }

  /** What is no word of ours makes every cached entry unsafe. */
  private receive(what: string, name: string): void {
    if (what === 'client') this.forgetClient(name);
    else if (what === 'token') this.forget(Buffer.from(name, 'hex'));
    else if (what !== 'session' && what !== 'user') this.cache.forgetAll();
  }

  private async read(hash: Buffer): Promise<Found<KnownClient> | null> {
    const row = await this.repository.findLiveToken(hash);
    if (!row) return null;
    const { clientId, merchantId, scopes, requireIdempotencyKey, allowedCidrs, remainingMs } = row;
    return { value: { clientId, merchantId, scopes, requireIdempotencyKey, allowedCidrs }, remainingMs };
  }
}
