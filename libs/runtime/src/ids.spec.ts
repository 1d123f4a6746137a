// Promise: ids of one process are unique, sort in the order of making, and have the documented shape.
import { newId } from './ids.js';

test('prefix, underscore and 26 lower-case Crockford letters', () => {
  expect(newId('rcp')).toMatch(/^rcp_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
});

test('sorts as made, without repetition', () => {
  const ids = Array.from({ length: 5000 }, () => newId('rcp'));
  expect(new Set(ids).size).toBe(5000);
  expect([...ids].sort()).toEqual(ids);
});
