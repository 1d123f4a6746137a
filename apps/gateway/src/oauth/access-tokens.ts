import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { AuthenticatedClient } from '../http/current-client.js';
import { hashAccessToken, looksLikeAccessToken } from './access-token.js';
import { OauthRepository } from './oauth.repository.js';

/** A revoked token or disabled client is refused at the latest after this, also when nobody calls `forget`. */
const CACHE_MS = 5_000;
const CACHE_ENTRIES = 10_000;

/** Who an access token belongs to, remembered for seconds so that a busy client costs one query per five seconds. */
@Injectable()
export class AccessTokens {
  private readonly cache = new LRUCache<string, AuthenticatedClient>({ max: CACHE_ENTRIES, ttl: CACHE_MS });
  private readonly underWay = new Map<string, Promise<AuthenticatedClient | null>>();
  /** Grows with each `forget`: a lookup that began before it must not be remembered after it. */
  private generation = 0;

  constructor(private readonly repository: OauthRepository) {}

  /** The client of a usable token, else `null`. Rejects when the database cannot be asked. */
  async find(token: string): Promise<AuthenticatedClient | null> {
    const hash = hashAccessToken(token);
    const key = hash.toString('base64');
    const known = this.cache.get(key);
    if (known) return known;
    if (!looksLikeAccessToken(token)) return null;
    // Requests that arrive together share one query.
    const running = this.underWay.get(key);
    if (running) return running;
    const lookup = this.lookUp(hash, key).finally(() => this.underWay.delete(key));
    this.underWay.set(key, lookup);
    return lookup;
  }

  /** Drops one token, by the SHA-256 that the database holds. */
  forget(tokenHash: Uint8Array): void {
    this.generation += 1;
    const key = Buffer.from(tokenHash).toString('base64');
    this.underWay.delete(key);
    this.cache.delete(key);
  }

  /** Drops all tokens of a client (disabled, scopes or policies changed). */
  forgetClient(clientId: string): void {
    this.generation += 1;
    this.underWay.clear();
    for (const [key, client] of this.cache.entries()) if (client.clientId === clientId) this.cache.delete(key);
  }

  private async lookUp(hash: Buffer, key: string): Promise<AuthenticatedClient | null> {
    const { generation } = this;
    const row = await this.repository.findLiveToken(hash);
    if (!row) return null;
    const { remainingMs, ...client } = row;
    const ttl = Math.min(CACHE_MS, Math.floor(remainingMs));
    // A ttl of 0 would mean "for ever".
    if (generation === this.generation && ttl > 0) this.cache.set(key, client, { ttl });
    return client;
  }
}
