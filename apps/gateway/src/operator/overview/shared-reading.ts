import type { LRUCache } from 'lru-cache';

/** Callers that come together share one reading; one that fails is not kept. */
export function shared<T>(cache: LRUCache<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const known = cache.get(key);
  if (known) return known;
  const reading = read();
  cache.set(key, reading);
  reading.catch(() => {
    if (cache.peek(key) === reading) cache.delete(key);
  });
  return reading;
}
