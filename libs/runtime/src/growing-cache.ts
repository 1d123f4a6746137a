import { LRUCache } from 'lru-cache';

/**
 * Keeps the `entries` used last, and takes memory as it fills. By `max` alone LRUCache allocates the memory for all of them at
 * once: 26 bytes each, 12 MiB for the caches of a gateway without a request yet.
 */
export function growingCache<Key extends string, Value extends NonNullable<unknown>>(
  entries: number,
): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: entries, sizeCalculation: () => 1 });
}
