import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ACCESS_CHANGED_CHANNEL, ChannelListener } from '#database';
import type { Logger } from '#runtime';
import type { KnownClient } from '../../http/current-client.js';
import { hashAccessToken, looksLikeAccessToken } from './access-token.js';
import { OauthRepository } from './oauth.repository.js';

/** A cached entry may be this old, and no older, as far as this process can know. Revocation is promised within 1 s. */
const TRUST_MS = 900;
/** How often the connection for notices is asked whether it still speaks. */
const HEARTBEAT_MS = 400;
/** Even when every notice is received a token is looked up this often. */
const CACHE_MS = 5_000;
const CACHE_ENTRIES = 10_000;

interface CachedToken {
  client: KnownClient;
  /** `performance.now()` before it was read. */
  readAt: number;
}

interface Lookup {
  begunAt: number;
  client: Promise<KnownClient | null>;
}

/**
 * Who an access token belongs to, cached for seconds so that a busy client costs one query per five seconds.
 *
 * When a token or a client's rights are taken away, by whatever path, the database notifies all gateways with the commit, and
 * they drop the entry. A notice can be missed, so a cached entry counts only while it was read within the last moments or the
 * connection for notices has proven that it received everything until then (docs/adr/0019-revocation.md).
 */
@Injectable()
export class AccessTokens implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly cache = new LRUCache<string, CachedToken>({ max: CACHE_ENTRIES, ttl: CACHE_MS });
  private readonly underWay = new Map<string, Lookup>();
  /** Grows with each `forget`: a lookup that began before it must not be cached after it. */
  private generation = 0;
  private readonly notices: ChannelListener;

  constructor(
    { databaseUrl }: { databaseUrl: string },
    private readonly repository: OauthRepository,
    logger: Logger,
  ) {
    const options = {
      ...{ databaseUrl, applicationName: 'gateway-access', channel: ACCESS_CHANGED_CHANNEL, heartbeatMs: HEARTBEAT_MS },
      onNotice: (payload: string) => this.receive(payload),
      onListening: () => this.forgetAll(),
    };
    this.notices = new ChannelListener(options, logger);
  }

  onApplicationBootstrap(): void {
    this.notices.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.notices.stop();
  }

  /** The client of a usable token, else `null`. Rejects when the database cannot be asked. */
  async find(token: string): Promise<KnownClient | null> {
    const hash = hashAccessToken(token);
    const key = hash.toString('base64');
    const oldest = performance.now() - TRUST_MS;
    const known = this.cache.get(key);
    if (known && (known.readAt >= oldest || this.notices.deliveredUntilMs >= oldest)) return known.client;
    if (!looksLikeAccessToken(token)) return null;
    // Requests that arrive together share one query.
    const running = this.underWay.get(key);
    if (running && running.begunAt >= oldest) return running.client;
    return this.startLookup(hash, key);
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
    for (const [key, { client }] of this.cache.entries()) if (client.clientId === clientId) this.cache.delete(key);
  }

  private forgetAll(): void {
    this.generation += 1;
    this.underWay.clear();
    this.cache.clear();
  }

  /** `client:<id>` or `token:<SHA-256, hex>`; anything else makes every cached entry unsafe. */
  private receive(payload: string): void {
    const [what, name = ''] = payload.split(':', 2);
    if (what === 'client') this.forgetClient(name);
    else if (what === 'token') this.forget(Buffer.from(name, 'hex'));
    else this.forgetAll();
  }

  private startLookup(hash: Buffer, key: string): Promise<KnownClient | null> {
    const begunAt = performance.now();
    const client = this.lookUp(hash, key, begunAt).finally(() => {
      if (this.underWay.get(key)?.client === client) this.underWay.delete(key);
    });
    this.underWay.set(key, { begunAt, client });
    return client;
  }

  private async lookUp(hash: Buffer, key: string, readAt: number): Promise<KnownClient | null> {
    const { generation } = this;
    const row = await this.repository.findLiveToken(hash);
    if (!row) return null;
    const { clientId, merchantId, scopes, requireIdempotencyKey, allowedCidrs } = row;
    const client = { clientId, merchantId, scopes, requireIdempotencyKey, allowedCidrs };
    const ttl = Math.min(CACHE_MS, Math.floor(row.remainingMs));
    // A ttl of 0 would mean "for ever".
    if (generation === this.generation && ttl > 0) this.cache.set(key, { client, readAt }, { ttl });
    return client;
  }
}
