// Promise: times are those of Tashkent, wherever the browser stands, and survive the way through an input field.
import { formatTime, inputToInstant, instantToInput, tashkentDay } from './time.js';

test('an instant is shown in Tashkent', () => {
  expect(formatTime('2026-11-22T19:05:09Z')).toBe('23.11.2026 00:05:09');
  expect(tashkentDay(new Date('2026-12-31T19:00:00Z'))).toBe('2027-01-01');
});

test('an input field is read as time of Tashkent, and the other way round', () => {
  expect(inputToInstant('2026-11-23T00:05')).toBe('2026-11-22T19:05:00.000Z');
  expect(instantToInput('2026-11-22T19:05:00.000Z')).toBe('2026-11-23T00:05');
  expect(inputToInstant('yesterday')).toBeUndefined();
  expect(instantToInput('never')).toBe('');
});
