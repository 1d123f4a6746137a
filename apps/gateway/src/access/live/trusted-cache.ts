import { LRUCache } from 'lru-cache';
import type { AccessNotices } from './access-notices.js';

/** A cached entry may be this old, and no older, as far as this process can know. Revocation is promised within 1 s. */
const TRUST_MS = 900;
/** Even when every notice is received an entry is looked up this often. */
const CACHE_MS = 5_000;
const CACHE_ENTRIES = 10_000;

/** What was found, and for how long it may be used, by the database's clock. */
export interface Found<T> {
  value: T;
  remainingMs: number;
}

interface Entry<T> {
  value: T;
  /** `performance.now()` before it was read. */
  readAt: number;
}

interface Lookup<T> {
  begunAt: number;
  value: Promise<T | null>;
}

/**
 * What a credential stands for, by its hash, cached for seconds so that a busy caller costs one query per five seconds.
 *
 * When rights are taken away, by whatever path, the database notifies all gateways with the commit, and they drop the entry. A
 * notice can be missed, so a cached entry counts only while it was read within the last moments or the connection for notices
 * has proven that it received everything until then (docs/adr/0019-revocation.md).
 */
export class TrustedCache<T extends object> {
  private readonly cache = new LRUCache<string, Entry<T>>({ max: CACHE_ENTRIES, ttl: CACHE_MS });
  private readonly underWay = new Map<string, Lookup<T>>();
  /** Grows with each `forget`: a lookup that began before it must not be cached after it. */
  private generation = 0;

  constructor(
    private readonly notices: Pick<AccessNotices, 'deliveredUntilMs'>,
    private readonly read: (hash: Buffer) => Promise<Found<T> | null>,
  ) {}

  /** @param mayBeKnown false: it has not the form of a credential, so only the cache is asked */
  async find(hash: Buffer, mayBeKnown: boolean): Promise<T | null> {
    const key = hash.toString('base64');
    const oldest = performance.now() - TRUST_MS;
    const known = this.cache.get(key);
    if (known && (known.readAt >= oldest || this.notices.deliveredUntilMs >= oldest)) return known.value;
    if (!mayBeKnown) return null;
    // Requests that arrive together share one query.
    const running = this.underWay.get(key);
    if (running && running.begunAt >= oldest) return running.value;
    return this.startLookup(hash, key);
  }

  forget(hash: Uint8Array): void {
    this.generation += 1;
    const key = Buffer.from(hash).toString('base64');
    this.underWay.delete(key);
    this.cache.delete(key);
  }

  forgetWhere(isMeant: (value: T) => boolean): void {
    this.generation += 1;
    this.underWay.clear();
    for (const [key, { value }] of this.cache.entries()) if (isMeant(value)) this.cache.delete(key);
  }

  forgetAll(): void {
    this.generation += 1;
    this.underWay.clear();
    this.cache.clear();
  }

  private startLookup(hash: Buffer, key: string): Promise<T | null> {
    const begunAt = performance.now();
    const value = this.lookUp(hash, key, begunAt).finally(() => {
      if (this.underWay.get(key)?.value === value) this.underWay.delete(key);
    });
    this.underWay.set(key, { begunAt, value });
    return value;
  }

  private async lookUp(hash: Buffer, key: string, readAt: number): Promise<T | null> {
    const { generation } = this;
    const found = await this.read(hash);
    if (!found) return null;
    const ttl = Math.min(CACHE_MS, Math.floor(found.remainingMs));
    // A ttl of 0 would mean "for ever".
    if (generation === this.generation && ttl > 0) this.cache.set(key, { value: found.value, readAt }, { ttl });
    return found.value;
  }
}
