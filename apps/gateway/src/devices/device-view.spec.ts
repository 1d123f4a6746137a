// Promise: a schedule in Tashkent time is told as the right moment, on whichever side of midnight.
import { nextTimeOfDay } from './device-view.js';

test.each([
  ['23:00', '2026-03-01T12:00:00Z', '2026-03-01T18:00:00.000Z'],
  ['23:00', '2026-03-01T18:00:00Z', '2026-03-02T18:00:00.000Z'],
  ['00:00', '2026-03-01T18:59:59Z', '2026-03-01T19:00:00.000Z'],
  ['00:00', '2026-03-01T19:00:00Z', '2026-03-02T19:00:00.000Z'],
  ['04:59', '2026-03-01T00:00:00Z', '2026-03-01T23:59:00.000Z'],
  ['05:00', '2026-02-28T23:59:59Z', '2026-03-01T00:00:00.000Z'],
  // The night in which others change their clocks.
  ['03:30', '2026-03-28T22:00:00Z', '2026-03-28T22:30:00.000Z'],
])('%s after %s is %s', (time, now, next) => {
  expect(nextTimeOfDay(time, new Date(now)).toISOString()).toBe(next);
});
