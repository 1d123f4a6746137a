// Promise: sums on the register's screen have the decimal mark of its language, as in the console; what is printed keeps the receipt's own form.
import { sumText } from '#paper';
import { money, plainMoney } from './format.js';
import { sayer } from './words.js';

test.each([
  ['ru', '1 234 567,89', '1 234 567,89 сум'],
  ['uz', '1 234 567,89', '1 234 567,89 so‘m'],
  ['en', '1 234 567.89', '1 234 567.89 so‘m'],
] as const)('in %s', (language, plain, named) => {
  const say = sayer(language);
  const shown = (text: string): string => text.replaceAll('\u00a0', ' ');
  expect(shown(plainMoney(say, 123_456_789))).toBe(plain);
  expect(shown(plainMoney(say, -123_456_789))).toBe(`−${plain}`);
  expect(shown(money(say, 123_456_789))).toBe(named);
  expect(shown(sumText(123_456_789))).toBe('1 234 567.89');
});
