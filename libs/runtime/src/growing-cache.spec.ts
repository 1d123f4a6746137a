// Promise: a cache holds no more than it was allowed, and drops what was used longest ago.
import { growingCache } from './growing-cache.js';

test('the least recently used of too many goes', () => {
  const cache = growingCache<string, number>(3);
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index);
  cache.get('a');
  cache.set('d', 3);
  expect([...cache.keys()].sort()).toEqual(['a', 'c', 'd']);
  for (let index = 0; index < 1_000; index += 1) cache.set(`k${index}`, index);
  expect(cache.size).toBe(3);
  expect(cache.get('k999')).toBe(999);
});
