// Promise: a sum is shown and read digit by digit, whatever its size; what is no sum is refused.
import { formatCount, formatQuantity, formatTiyin, parseSom, tiyinToInput } from './money.js';

const plain = (text: string): string => text.replaceAll('\u202f', ' ');

test('sums are written from whole tiyin', () => {
  expect(plain(formatTiyin(0, 'ru'))).toBe('0,00');
  expect(plain(formatTiyin(5, 'uz'))).toBe('0,05');
  expect(plain(formatTiyin(123_456_789, 'en'))).toBe('1 234 567.89');
  expect(plain(formatTiyin(-150_000, 'ru'))).toBe('−1 500,00');
  expect(plain(formatTiyin(9_007_199_254_740_991, 'ru'))).toBe('90 071 992 547 409,91');
  expect(plain(formatCount(1_000_000))).toBe('1 000 000');
});

test('what a person types becomes whole tiyin', () => {
  expect(parseSom('1 500')).toBe(150_000);
  expect(parseSom('0,1')).toBe(10);
  expect(parseSom('1.005')).toBeNull();
  expect(parseSom('19.99')).toBe(1_999);
  expect(parseSom('')).toBeNull();
  expect(parseSom('-5')).toBeNull();
  expect(parseSom('1e5')).toBeNull();
});

test.each(['en', 'ru', 'uz'])(
  'what a field is filled with in %s has its decimal mark, and is read back',
  (language) => {
    const mark = language === 'en' ? '.' : ',';
    expect(tiyinToInput(150_050, language)).toBe(`1500${mark}50`);
    expect(tiyinToInput(150_000, language)).toBe('1500');
    for (const tiyin of [0, 1, 10, 100, 150_050, 999_999_999_999_999])
      expect(parseSom(tiyinToInput(tiyin, language))).toBe(tiyin);
  },
);

test('a quantity has the decimal mark of the language, as a sum has', () => {
  expect(formatQuantity(1.5, 'ru')).toBe('1,5');
  expect(formatQuantity('0.125', 'uz')).toBe('0,125');
  expect(formatQuantity(1.5, 'en')).toBe('1.5');
  expect(formatQuantity(12, 'ru')).toBe('12');
});
