// Promise: a verification link carries the right t, r, c and s, and only a whole one is accepted.
import fc from 'fast-check';
import { tashkentCompact } from './tashkent-time.js';
import { buildVerificationLink, parseVerificationLink } from './verification-link.js';

const BASE = 'https://ofd.soliq.uz/check';
const LINK = {
  terminalId: 'ZZ000000000001',
  receiptSeq: 42,
  compactTime: '20261120111200',
  fiscalSign: '012345678901',
};
const TEXT = 'https://ofd.soliq.uz/check?t=ZZ000000000001&r=42&c=20261120111200&s=012345678901';

test('builds the link', () => {
  expect(buildVerificationLink(BASE, LINK)).toBe(TEXT);
  expect(buildVerificationLink(`${BASE}?lang=uz`, LINK)).toBe(TEXT.replace('?t=', '?lang=uz&t='));
});

test('reads it, whatever the order and whatever else is there', () => {
  expect(parseVerificationLink(TEXT)).toEqual(LINK);
  expect(parseVerificationLink('x?s=012345678901&lang=uz&flag&c=20261120111200&r=42&t=ZZ000000000001#t=1')).toEqual(
    LINK,
  );
});

test('reads a bare query, and one with a nameless part', () => {
  expect(parseVerificationLink(TEXT.slice(TEXT.indexOf('?')))).toEqual(LINK);
  expect(parseVerificationLink(`${TEXT}&=5&`)).toEqual(LINK);
  expect(parseVerificationLink(TEXT.replace('t=ZZ', '=t&t=ZZ'))).toEqual(LINK);
});

test('round trip', () => {
  const links = fc.record({
    terminalId: fc.string({ minLength: 1, unit: 'grapheme' }),
    receiptSeq: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    compactTime: fc.integer({ min: 0, max: 4_000_000_000 }).map((s) => tashkentCompact(s * 1000)),
    fiscalSign: fc.string({ minLength: 1 }),
  });
  fc.assert(
    fc.property(links, fc.constantFrom(BASE, `${BASE}?a=b`), (link, base) => {
      expect(parseVerificationLink(buildVerificationLink(base, link))).toEqual(link);
    }),
  );
});

test.each([
  '',
  BASE,
  `${BASE}?`,
  TEXT.replace('t=ZZ000000000001', 't='),
  TEXT.replace('&r=42', ''),
  TEXT.replace('r=42', 'r=0'),
  TEXT.replace('r=42', 'r=-1'),
  TEXT.replace('r=42', 'r=4.2'),
  TEXT.replace('r=42', 'r=042'),
  TEXT.replace('r=42', 'r=9007199254740992'),
  TEXT.replace('20261120111200', '20261320111200'),
  TEXT.replace('s=012345678901', 's='),
  TEXT.replace('s=012345678901', 's=%E0%A4%A'),
  `${TEXT}&s=999999999999`,
  TEXT.replace('?', '#?'),
])('%j is not accepted', (url) => {
  expect(parseVerificationLink(url)).toBeNull();
});
