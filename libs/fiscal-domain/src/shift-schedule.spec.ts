// Promise: every shift is closed at the shop's own time of day, also when it was opened after it, at midnight or days ago.
import { nextTimeOfDay, parseTimeOfDay } from './shift-schedule.js';

const tashkent = (text: string): number => Date.parse(`${text}+05:00`);

test.each([
  ['00:00', 0],
  ['23:50', 1430],
  ['23:59', 1439],
  ['24:00', null],
  ['9:00', null],
  ['12:60', null],
  ['', null],
  ['23:50 ', null],
])('%p is %p minutes after midnight', (text, minutes) => {
  expect(parseTimeOfDay(text)).toBe(minutes);
});

test.each([
  ['an ordinary day', '2026-11-20T08:00:00', '23:50', '2026-11-20T23:50:00'],
  ['opened after the time: tomorrow', '2026-11-20T23:55:00', '23:50', '2026-11-21T23:50:00'],
  ['opened at the very time: tomorrow', '2026-11-20T23:50:00', '23:50', '2026-11-21T23:50:00'],
  ['a second before', '2026-11-20T23:49:59', '23:50', '2026-11-20T23:50:00'],
  ['midnight', '2026-11-20T00:00:00', '00:00', '2026-11-21T00:00:00'],
  ['midnight, a second before', '2026-11-20T23:59:59', '00:00', '2026-11-21T00:00:00'],
  ['between midnights of UTC and Tashkent', '2026-11-20T03:00:00', '02:00', '2026-11-21T02:00:00'],
  ['last day of the year', '2026-12-31T23:55:00', '23:50', '2027-01-01T23:50:00'],
  ['spring, where others change their clocks', '2026-03-29T01:30:00', '02:30', '2026-03-29T02:30:00'],
])('%s', (_name, opened, closeAt, expected) => {
  expect(nextTimeOfDay(tashkent(opened), parseTimeOfDay(closeAt)!)).toBe(tashkent(expected));
});

test('before 1970 too', () => {
  expect(nextTimeOfDay(tashkent('1969-05-05T01:00:00'), 60 * 12)).toBe(tashkent('1969-05-05T12:00:00'));
});
