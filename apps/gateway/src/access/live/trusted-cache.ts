import { growingCache } from '#runtime';
import type { ChannelListener } from '#database';

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

/** How a hash is written in the cache. */
export function textOfHash(hash: Buffer): string {
  return hash.toString('base64');
}

/**
 * What a credential stands for, or what a client signs with, cached for seconds so that a busy caller costs one query per five seconds.
 *
 * When rights are taken away, by whatever path, the database notifies all gateways with the commit, and they drop the entry. A
 * notice can be missed, so a cached entry counts only while it was read within the last moments or the connection for notices
 * has proven that it received everything until then (docs/adr/0019-revocation.md).
 */
export class TrustedCache<Key, T extends object> {
  private readonly cache = growingCache<string, Entry<T>>(CACHE_ENTRIES, { ttl: CACHE_MS });
  private readonly underWay = new Map<string, Lookup<T>>();
  /** Grows with each `forget`: a lookup that began before it must not be cached after it. */
  private generation = 0;

  constructor(
    private readonly notices: Pick<ChannelListener, 'deliveredUntilMs'>,
    private readonly textOf: (key: Key) => string,
    private readonly read: (key: Key) => Promise<Found<T> | null>,
  ) {}

  /** @param mayBeKnown false: it has not the form of a credential, so only the cache is asked */
  async find(key: Key, mayBeKnown = true): Promise<T | null> {
    const text = this.textOf(key);
    const oldest = performance.now() - TRUST_MS;
    const known = this.cache.get(text);
    if (known && (known.readAt >= oldest || this.notices.deliveredUntilMs >= oldest)) return known.value;
    if (!mayBeKnown) return null;
    // Requests that arrive together share one query; behind one that hangs (a dead connection that seems well) none waits.
    const running = this.underWay.get(text);
    if (running && running.begunAt >= oldest) return running.value;
    return this.startLookup(key, text);
  }

  forget(key: Key): void {
    this.generation += 1;
    const text = this.textOf(key);
    this.underWay.delete(text);
    this.cache.delete(text);
  }

  forgetWhere(isMeant: (value: T) => boolean): void {
    this.generation += 1;
    this.underWay.clear();
    for (const [text, { value }] of this.cache.entries()) if (isMeant(value)) this.cache.delete(text);
  }

  forgetAll(): void {
    this.generation += 1;
    this.underWay.clear();
    this.cache.clear();
  }

  private startLookup(key: Key, text: string): Promise<T | null> {
    // From before the question on: what was written while it was answered may be missing in it.
    const begunAt = performance.now();
    const value = this.lookUp(key, text, begunAt).finally(() => {
      if (this.underWay.get(text)?.value === value) this.underWay.delete(text);
    });
    this.underWay.set(text, { begunAt, value });
    return value;
  }

  private async lookUp(key: Key, text: string, readAt: number): Promise<T | null> {
    const { generation } = this;
    const found = await this.read(key);
    if (!found) return null;
    const ttl = Math.min(CACHE_MS, Math.floor(found.remainingMs));
    // A ttl of 0 would mean "for ever".
    if (generation === this.generation && ttl > 0) this.cache.set(text, { value: found.value, readAt }, { ttl });
    return found.value;
  }
}
