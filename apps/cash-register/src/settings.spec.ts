// Breaks if a register starts with a setting by which each of its sales would fail.
import { readRegisterSettings } from './settings.js';

const verificationUrl = (raw: string): string => readRegisterSettings({ VERIFICATION_URL: raw }).VERIFICATION_URL;

test('the base of the verification link may have a path and a query', () => {
  for (const base of ['https://ofd.soliq.uz/check', 'http://10.0.0.1:8080/check?lang=uz'])
    expect(verificationUrl(base)).toBe(base);
});

test.each([
  ['is no URL', 'ofd.soliq.uz'],
  ['is of another scheme', 'ftp://ofd.soliq.uz/check'],
  ['hides the values behind #', 'https://ofd.soliq.uz/#/check'],
  ['does not fit into a QR code', `https://ofd.soliq.uz/${'a'.repeat(2_250)}`],
])('one that %s is refused at the start', (_what, raw) => {
  expect(() => verificationUrl(raw)).toThrow('VERIFICATION_URL');
});
