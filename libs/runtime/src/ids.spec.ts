// Promise: ids of one process are unique, sort in the order of making, and have the documented shape.
import { firstIdAt, newId, newIdOf, timeOfId } from './ids.js';

test('prefix, underscore and 26 lower-case Crockford letters', () => {
  expect(newId('rcp')).toMatch(/^rcp_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
});

test('sorts as made, without repetition', () => {
  const ids = Array.from({ length: 5000 }, () => newId('rcp'));
  expect(new Set(ids).size).toBe(5000);
  expect([...ids].sort()).toEqual(ids);
});

test('says when it was made, of a sandbox as of any other', () => {
  const before = Date.now();
  for (const id of [newId('rcp'), newIdOf('rcp', 'mer_test_1')]) {
    expect(timeOfId(id).getTime()).toBeGreaterThanOrEqual(before);
    expect(timeOfId(id).getTime()).toBeLessThanOrEqual(Date.now());
  }
  expect(timeOfId(`${firstIdAt('rcp', new Date(0))}${'0'.repeat(16)}`)).toEqual(new Date(0));
  expect(() => timeOfId('rcp_none')).toThrow();
});
