// Promise: a quantity means exactly the decimal that was written, or it is refused with the reason.
import fc from 'fast-check';
import { formatQuantity, parseQuantity, thousandths } from './quantity.js';

describe('parseQuantity', () => {
  test.each<[number | string, number]>([
    [1, 1000],
    ['1', 1000],
    [1.005, 1005],
    ['1.005', 1005],
    ['1.1', 1100],
    [0.3, 300],
    [`${'0'.repeat(36)}1.25`.slice(-40), 1250],
    [0.001, 1],
    ['0.5', 500],
    ['1.50', 1500],
    ['007', 7000],
    [4.35, 4350],
    [1.115, 1115],
    ['9007199254740.991', Number.MAX_SAFE_INTEGER],
    [8000000000000.125, 8_000_000_000_000_125],
    [8796093022208, 8_796_093_022_208_000],
    ['8796093022208.001', 8_796_093_022_208_001],
  ])('%p is %p thousandths', (value, expected) => {
    expect(parseQuantity(value)).toEqual({ kind: 'ok', thousandths: expected });
  });

  test.each<[unknown, string]>([
    ['', 'not_a_number'],
    ['abc', 'not_a_number'],
    ['1,5', 'not_a_number'],
    ['1e3', 'not_a_number'],
    ['1E-3', 'not_a_number'],
    ['0x10', 'not_a_number'],
    ['.5', 'not_a_number'],
    ['5.', 'not_a_number'],
    ['+1', 'not_a_number'],
    [' 1', 'not_a_number'],
    ['1\n', 'not_a_number'],
    ['١', 'not_a_number'],
    [NaN, 'not_a_number'],
    [Infinity, 'not_a_number'],
    [null, 'not_a_number'],
    [{}, 'not_a_number'],
    [true, 'not_a_number'],
    [0, 'not_positive'],
    [-0, 'not_positive'],
    ['0.000', 'not_positive'],
    [-1, 'not_positive'],
    ['-1.5', 'not_positive'],
    [-1e-9, 'not_positive'],
    [1.0005, 'too_many_decimals'],
    ['1.0000', 'too_many_decimals'],
    [0.1 + 0.2, 'too_many_decimals'],
    [1e-7, 'too_many_decimals'],
    [1e-6, 'too_many_decimals'],
    [`${'0'.repeat(40)}1`, 'too_large'],
    ['9007199254740.992', 'too_large'],
    [9007199254741, 'too_large'],
    [1e21, 'too_large'],
    // What was written as …208.001 and as …208.003 is one double, or the neighbour's: it prints as .002 and as .004.
    [8796093022208.002, 'too_precise'],
    [9007199254740.5, 'too_precise'],
    ['1'.repeat(100_000), 'too_large'],
  ])('%p is refused: %p', (value, reason) => {
    expect(parseQuantity(value as number)).toEqual({ kind: 'invalid', reason });
  });
});

describe('formatQuantity', () => {
  test.each([
    [1005, '1.005'],
    [2000, '2'],
    [500, '0.5'],
    [1, '0.001'],
    [10, '0.01'],
    [1_234_560, '1234.56'],
    [Number.MAX_SAFE_INTEGER, '9007199254740.991'],
  ])('%p is written %p', (value, expected) => {
    expect(formatQuantity(thousandths(value))).toBe(expected);
  });

  test('is what parseQuantity reads back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (value) => {
        expect(parseQuantity(formatQuantity(thousandths(value)))).toEqual({ kind: 'ok', thousandths: value });
      }),
    );
  });

  test('also as a JSON number, and is refused where a double has no three decimals', () => {
    const last = 2 ** 43 * 1000;
    const near = fc.integer({ min: last - 10 ** 6, max: last + 10 ** 6 });
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), near), (value) => {
        const number: unknown = JSON.parse(formatQuantity(thousandths(value)));
        const isExact = value < last || value % 1000 === 0;
        const expected = isExact ? { kind: 'ok', thousandths: value } : { kind: 'invalid', reason: 'too_precise' };
        expect(parseQuantity(number as number)).toEqual(expected);
      }),
    );
  });
});

test.each([0, -1, 1.5, NaN, Number.MAX_SAFE_INTEGER + 1])('thousandths refuses %p', (value) => {
  expect(() => thousandths(value)).toThrow(RangeError);
});
