import { LRUCache } from 'lru-cache';

type More<Key extends string, Value extends NonNullable<unknown>> = Pick<
  LRUCache<Key, Value>,
  'ttl' | 'dispose' | 'fetchMethod' | 'ignoreFetchAbort'
>;

/**
 * Keeps the `entries` used last, and takes memory as it fills. By `max` alone LRUCache allocates the memory for all of them at
 * once: 26 bytes each, 12 MiB for the caches of a gateway without a request yet.
 */
export function growingCache<Key extends string, Value extends NonNullable<unknown>>(
  entries: number,
  more: Partial<More<Key, Value>> = {},
): LRUCache<Key, Value> {
  return new LRUCache({ ...more, maxSize: entries, sizeCalculation: () => 1 });
}
