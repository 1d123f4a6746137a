// Promise: a sum or a day of a register is read as it is meant, or not at all.
import { readDay, readSum } from './register-cells.js';

test.each<[string, 'som' | 'tiyin', number | null]>([
  ['1120', 'som', 112_000],
  ['1 120,50', 'som', 112_050],
  ['1\u00a0120.5', 'som', 112_050],
  ['1,120.00', 'som', 112_000],
  ['1.120,00', 'som', 112_000],
  ['1,120,000', 'som', 112_000_000],
  ['1’120', 'som', null],
  ["1'120", 'som', 112_000],
  ['1120 UZS', 'som', 112_000],
  ['1120 сум', 'som', 112_000],
  ['-1120', 'som', -112_000],
  ['-0', 'som', 0],
  // Thousands, or three decimals: one of both would be wrong by a factor of a thousand.
  ['1.120', 'som', null],
  ['1,120', 'som', null],
  ['1.2.3', 'som', null],
  ['1e5', 'som', null],
  ['', 'som', null],
  ['9'.repeat(16), 'som', null],
  ['9'.repeat(15), 'som', null],
  ['112000', 'tiyin', 112_000],
  ['112000.00', 'tiyin', 112_000],
  ['112000.50', 'tiyin', null],
])('%j in %s is %j', (text, unit, wanted) => {
  expect(readSum(text, unit)).toBe(wanted);
});

test.each<[string, string | null]>([
  ['2026-03-04', '2026-03-04'],
  ['2026-03-04 23:59:59', '2026-03-04'],
  ['04.03.2026 00:00', '2026-03-04'],
  ['04/03/2026', '2026-03-04'],
  ['2026-03-04T20:00:00Z', '2026-03-05'],
  ['2026-03-04T20:00:00+05:00', '2026-03-04'],
  // As databases and their libraries write an offset.
  ['2026-03-04 20:00:00+00:00', '2026-03-05'],
  ['2026-03-04 20:00:00.123456+00', '2026-03-05'],
  ['2026-03-04 20:00 UTC', '2026-03-05'],
  ['2026-03-04 20:00:00Z', '2026-03-05'],
  ['2026-03-04T20:00:00+0000', '2026-03-05'],
  ['04.03.2026 20:00:00 +00:00', '2026-03-05'],
  ['2026-03-04 01:00:00+06:30', '2026-03-03'],
  ['2026-03-04 20:00:00+05', '2026-03-04'],
  ['2026-02-31T20:00:00Z', null],
  ['2026-03-04T25:00:00Z', null],
  [String(Date.UTC(2026, 2, 4, 20)), '2026-03-05'],
  ['46085.9', '2026-03-04'],
  ['31.02.2026', null],
  ['2026-13-01', null],
  ['0000-01-01', null],
  ['01.01.1999', null],
  ['9999-12-31T23:59:59Z', null],
  ['2199-12-31', '2199-12-31'],
  ['yesterday', null],
  ['', null],
])('%j is the day %j', (text, wanted) => {
  expect(readDay(text)).toBe(wanted);
});
