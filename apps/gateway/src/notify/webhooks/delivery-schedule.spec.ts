// Promise: a receiver that was away gets its events by the published schedule, and one that is gone is not hammered.
import { pauseMs, readRetryAfterMs, retryDelayMs } from './delivery-schedule.js';

const HOUR = 3_600_000;

test('5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, then no more', () => {
  const delays = Array.from({ length: 10 }, (_, failed) => retryDelayMs(failed + 1, null, 0));
  expect(delays).toEqual([
    ...[5_000, 300_000, 1_800_000],
    ...[2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR, null],
  ]);
});

test('at most a fifth later, never earlier', () => {
  expect(retryDelayMs(1, null, 0.999)).toBeLessThanOrEqual(6_000);
  expect(retryDelayMs(1, null, 0.5)).toBe(5_500);
});

test('Retry-After only puts off, and not beyond a day', () => {
  expect(retryDelayMs(1, 60_000, 0)).toBe(60_000);
  expect(retryDelayMs(3, 60_000, 0)).toBe(1_800_000);
  expect(retryDelayMs(1, 999 * HOUR, 0)).toBe(24 * HOUR);
});

test.each([
  ['120', 120_000],
  ['Fri, 02 Jan 2026 03:04:05 GMT', 5_000],
  ['Fri, 02 Jan 2026 03:00:00 GMT', 0],
  ['soon', null],
  [undefined, null],
])('Retry-After: %s', (header, expected) => {
  expect(readRetryAfterMs(header, Date.parse('2026-01-02T03:04:00Z'))).toBe(expected);
});

test('a failing receiver is left alone for 5 s, then twice as long, at most 5 min', () => {
  expect([1, 2, 3, 6, 7, 50].map((failures) => pauseMs(failures, 0))).toEqual([
    ...[5_000, 10_000, 20_000, 160_000, 300_000, 300_000],
  ]);
});
