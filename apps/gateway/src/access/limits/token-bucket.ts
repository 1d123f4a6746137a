import type { LRUCache } from 'lru-cache';
import { growingCache, type Clock } from '#runtime';
import type { Rate } from '../../http/rate.js';

/** What a bucket says about one request. */
export interface BucketVerdict {
  isAllowed: boolean;
  /** Requests that would be allowed at once now. */
  remaining: number;
  /** Until the bucket is full again. */
  fullInMs: number;
  /** Until one more request is allowed; 0 while there are any. */
  retryInMs: number;
}

/**
 * The state of a bucket is one number, the moment at which it will be full (GCRA): how far that lies ahead says how much is
 * missing. Kept here, and word for word the same in Redis (redis-buckets.ts).
 */
export function takeFromBucket(rate: Rate, now: number, fullAt: number): { verdict: BucketVerdict; fullAt: number } {
  const capacityMs = rate.seconds * 1_000;
  const costMs = capacityMs / rate.requests;
  const missingMs = Math.max(0, fullAt - now);
  const isAllowed = missingMs + costMs <= capacityMs;
  return {
    verdict: verdictOf(rate, isAllowed, isAllowed ? missingMs + costMs : missingMs),
    fullAt: isAllowed ? now + missingMs + costMs : fullAt,
  };
}

/** @param missingMs time for which the bucket has to fill, after this request */
export function verdictOf(rate: Rate, isAllowed: boolean, missingMs: number): BucketVerdict {
  const capacityMs = rate.seconds * 1_000;
  const costMs = capacityMs / rate.requests;
  const remaining = Math.max(0, Math.floor((capacityMs - missingMs) / costMs + 1e-6));
  const retryInMs = isAllowed ? 0 : missingMs + costMs - capacityMs;
  return { isAllowed, remaining, fullInMs: missingMs, retryInMs };
}

/** What would be said of one more request. @param missingMs time for which the bucket has to fill, before this request */
export function peekVerdict(rate: Rate, missingMs: number): BucketVerdict {
  const capacityMs = rate.seconds * 1_000;
  return verdictOf(rate, missingMs + capacityMs / rate.requests <= capacityMs, missingMs);
}

/** Buckets of this process alone, bounded: the least recently used one is dropped. */
export class MemoryBuckets {
  private readonly fullAt: LRUCache<string, number>;

  constructor(
    private readonly rate: Rate,
    private readonly clock: Clock,
    max = 50_000,
  ) {
    this.fullAt = growingCache(max);
  }

  take(key: string): BucketVerdict {
    const now = this.clock.monotonicMs();
    const { verdict, fullAt } = takeFromBucket(this.rate, now, this.fullAt.get(key) ?? now);
    this.fullAt.set(key, fullAt);
    return verdict;
  }

  peek(key: string): BucketVerdict {
    const now = this.clock.monotonicMs();
    return peekVerdict(this.rate, Math.max(0, (this.fullAt.get(key) ?? now) - now));
  }

  give(key: string): void {
    const fullAt = this.fullAt.get(key);
    if (fullAt !== undefined) this.fullAt.set(key, fullAt - (this.rate.seconds * 1_000) / this.rate.requests);
  }
}
