import { growingCache } from '#runtime';
import { Freshness } from './freshness.js';
import { StatementGroup } from './statement-group.js';

export interface NotifiedCacheOptions<Asked, Found> {
  max: number;
  keyOf: (asked: Asked) => string;
  /** What a notice names when this answer has changed. */
  scopeOf: (asked: Asked) => string;
  /** How long an answer is used without a notice; bounds what a lost one can do. */
  maxAgeMs: () => number;
  /** Answers all of a group, in its order; null is not cached. */
  read: (group: readonly Asked[]) => Promise<readonly (Found | null)[]>;
}

interface Kept<Found> {
  value: Found;
  tick: number;
  readAtMs: number;
}

/**
 * Answers from the database that are used until a notice says that they have changed. What is asked at the same time, by however many
 * callers, is read by one statement, and each question once.
 */
export class NotifiedCache<Asked, Found extends object> {
  private readonly kept;
  private readonly pending = new Map<string, Promise<Found | null>>();
  private readonly freshness = new Freshness();
  private readonly group: StatementGroup<Asked, Found | null>;

  constructor(private readonly options: NotifiedCacheOptions<Asked, Found>) {
    this.kept = growingCache<string, Kept<Found>>(options.max);
    this.group = new StatementGroup((asked: readonly Asked[]) => options.read(asked));
  }

  changed(scope: string): void {
    this.freshness.changed(scope);
    // A caller that asks from now on must not get what was read before.
    this.pending.clear();
  }

  allChanged(): void {
    this.freshness.allChanged();
    this.pending.clear();
  }

  async get(asked: Asked): Promise<Found | null> {
    const key = this.options.keyOf(asked);
    return this.cached(key, asked) ?? this.pending.get(key) ?? this.read(key, asked);
  }

  /** What was read along with something else. */
  put(asked: Asked, value: Found, read: { tick: number; readAtMs: number }): void {
    this.kept.set(this.options.keyOf(asked), { value, ...read });
  }

  /** To be taken before a reading whose result is {@link put}. */
  beginRead(): { tick: number; readAtMs: number } {
    return { tick: this.freshness.now(), readAtMs: performance.now() };
  }

  private cached(key: string, asked: Asked): Found | undefined {
    const kept = this.kept.get(key);
    if (!kept || !this.freshness.isFresh(this.options.scopeOf(asked), kept.tick)) return undefined;
    return performance.now() - kept.readAtMs < this.options.maxAgeMs() ? kept.value : undefined;
  }

  private async read(key: string, asked: Asked): Promise<Found | null> {
    const begun = this.beginRead();
    const reading = this.group.one(asked);
    this.pending.set(key, reading);
    try {
      const found = await reading;
      if (found) this.put(asked, found, begun);
      return found;
    } finally {
      if (this.pending.get(key) === reading) this.pending.delete(key);
    }
  }
}
