// Promise: times on links, refunds and Z-reports are Tashkent's, to the second; a refund's time is the link's, digit by digit.
import fc from 'fast-check';
import {
  compactToIsoBasic,
  parseTashkentCompact,
  parseTashkentTime,
  tashkentCompact,
  tashkentDateTime,
  tashkentDayFirst,
  tashkentIsoBasic,
} from './tashkent-time.js';

const NEW_YEAR = Date.UTC(2026, 11, 31, 19, 0, 0);

test('the Tashkent day begins at 19:00 UTC', () => {
  expect(tashkentCompact(NEW_YEAR)).toBe('20270101000000');
  expect(tashkentCompact(NEW_YEAR - 1)).toBe('20261231235959');
  expect(tashkentDateTime(NEW_YEAR)).toBe('2027-01-01 00:00:00');
  expect(tashkentDayFirst(NEW_YEAR - 1)).toBe('31.12.2026 23:59:59');
  expect(tashkentIsoBasic(NEW_YEAR)).toBe('20270101T000000');
});

test('parts of a second are cut', () => {
  expect(tashkentCompact(NEW_YEAR + 999)).toBe('20270101000000');
});

test('reads back what it wrote', () => {
  const seconds = fc.integer({ min: 0, max: 4_000_000_000 });
  fc.assert(fc.property(seconds, (s) => parseTashkentCompact(tashkentCompact(s * 1000)) === s * 1000));
});

test.each([
  '',
  '2026',
  '20260230120000',
  '20250229120000',
  '20261301120000',
  '20260001120000',
  '20260100120000',
  '20260101240000',
  '20260101126000',
  '20260101120060',
  '2026010112000',
  '202601011200000',
  '2026-01-01 12:',
  '20260101T12000',
  '20260101120000\n',
])('%j is no time', (text) => {
  expect(parseTashkentCompact(text)).toBeNull();
});

test.each(['20240229235959', '00000101000000', '00010101050000', '99991231235959'])('%s is a time', (text) => {
  expect(tashkentCompact(parseTashkentCompact(text) ?? NaN)).toBe(text);
});

test.each([NaN, Infinity, 8.64e15, -62167219200000 - 18000000 - 1, Date.UTC(10_000, 0, 2)])(
  '%p cannot be written',
  (epochMs) => {
    expect(() => tashkentCompact(epochMs)).toThrow(RangeError);
  },
);

test('compactToIsoBasic only puts the T in', () => {
  expect(compactToIsoBasic('20260131235959')).toBe('20260131T235959');
  expect(compactToIsoBasic('2026013123595')).toBeNull();
  expect(compactToIsoBasic('20260131T23595')).toBeNull();
});

test('parseTashkentTime reads both writings of a Z-report', () => {
  const noon = Date.parse('2026-01-31T12:00:00+05:00');
  expect(parseTashkentTime('2026-01-31 12:00:00')).toBe(noon);
  expect(parseTashkentTime('20260131T120000')).toBe(noon);
  for (const odd of ['', '2026-02-30 12:00:00', '2026-01-31', 'yesterday']) expect(parseTashkentTime(odd)).toBeNull();
});
