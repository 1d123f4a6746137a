// Promise: codes are those of RFC 6238, and one counts only near its time.
import { derivedTotpSecret, otpauthUrl, totpAt, totpStep } from './totp.js';

/** The secret of RFC 6238, appendix B, in base32. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('at %d it is %s', (seconds, code) => {
  expect(totpAt(SECRET, seconds)).toBe(code);
  expect(totpStep(SECRET, code, seconds)).toBe(Math.floor(seconds / 30));
});

test('one step off is taken, two are not; neither is what is no code', () => {
  const code = totpAt(SECRET, 3_000);
  expect([2_970, 3_030].map((at) => totpStep(SECRET, code, at))).toEqual([100, 100]);
  expect([2_939, 3_060].map((at) => totpStep(SECRET, code, at))).toEqual([null, null]);
  expect(['', '1', `${code}0`, `${code} `, ' '.repeat(6)].map((text) => totpStep(SECRET, text, 3_000))).toEqual(
    Array.from({ length: 5 }, () => null),
  );
});

test('a secret has 160 bits; it is the same again, and another for another subject', () => {
  const key = Buffer.alloc(32, 1);
  expect(derivedTotpSecret(key, 'a')).toMatch(/^[A-Z2-7]{32}$/);
  expect(derivedTotpSecret(key, 'a')).toBe(derivedTotpSecret(key, 'a'));
  expect(derivedTotpSecret(key, 'a')).not.toBe(derivedTotpSecret(key, 'b'));
  const url = otpauthUrl(SECRET, { issuer: 'Fiscal gateway', account: 'a@shop.uz' });
  expect(url).toBe(`otpauth://totp/Fiscal%20gateway:a%40shop.uz?secret=${SECRET}&issuer=Fiscal%20gateway`);
});
