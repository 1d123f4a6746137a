// Promise: ids of one process are unique, sort in the order of making, and have the documented shape.
import { firstIdAt, newId, newIdOf, timeOfId, ulidsBy } from './ids.js';

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

test('a clock that was ahead for a moment dates nothing that is made after it', () => {
  const right = Date.parse('2026-01-02T03:04:05Z');
  let nowMs = right;
  const next = ulidsBy(() => nowMs);
  const before = Array.from({ length: 100 }, next);
  nowMs = right + 366 * 86_400_000;
  const ahead = next();
  nowMs = right;
  const after = Array.from({ length: 100 }, next);
  expect(timeOfId(ahead).getTime()).toBe(right + 366 * 86_400_000);
  expect(after.map((ulid) => timeOfId(ulid).getTime())).toEqual(after.map(() => right));
  expect([...after].sort()).toEqual(after);
  expect(new Set([...before, ahead, ...after]).size).toBe(201);
});

test('a clock that goes back by seconds does not change the order of making', () => {
  let nowMs = Date.parse('2026-01-02T03:04:05Z');
  const next = ulidsBy(() => nowMs);
  const ulids = [0, -1, -4_999, 5_000, 1, -4_000].map((stepMs) => {
    nowMs += stepMs;
    return next();
  });
  expect([...ulids].sort()).toEqual(ulids);
});
