// Promise: money is never rounded by floats and never overflows silently.
import fc from 'fast-check';
import { divideHalfUp, MAX_TIYIN, sumTiyin, tiyin } from './money.js';

describe('tiyin', () => {
  test.each([0.5, -0.1, NaN, Infinity, -Infinity, MAX_TIYIN + 1, 1e16, 1e21])('refuses %p', (value) => {
    expect(() => tiyin(value)).toThrow(RangeError);
  });

  test.each([0, 1, -1, MAX_TIYIN, -MAX_TIYIN])('takes %p', (value) => {
    expect(tiyin(value)).toBe(value);
  });

  test('has no negative zero', () => {
    expect(Object.is(tiyin(-0), 0)).toBe(true);
  });
});

describe('divideHalfUp', () => {
  test.each([
    [0n, 7n, 0n],
    [1n, 2n, 1n],
    [3n, 2n, 2n],
    [1n, 3n, 0n],
    [2n, 3n, 1n],
    [499n, 1000n, 0n],
    [500n, 1000n, 1n],
    [10n ** 40n + 5n, 10n, 10n ** 39n + 1n],
  ])('%p / %p = %p', (numerator, denominator, expected) => {
    expect(divideHalfUp(numerator, denominator)).toBe(expected);
  });

  test('is the nearest whole number, the upper one of two equally near', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.bigInt({ min: 1n, max: 10n ** 12n }), (n, d) => {
        const distance = 2n * (n - divideHalfUp(n, d) * d);
        return distance >= -d && distance < d;
      }),
    );
  });

  test.each([
    [-1n, 2n],
    [1n, 0n],
    [1n, -2n],
  ])('refuses %p / %p', (numerator, denominator) => {
    expect(() => divideHalfUp(numerator, denominator)).toThrow(RangeError);
  });
});

describe('sumTiyin', () => {
  test('reaches the border exactly and names what is beyond it', () => {
    expect(sumTiyin([tiyin(MAX_TIYIN - 1), tiyin(1)])).toEqual({ kind: 'ok', totalTiyin: MAX_TIYIN });
    expect(sumTiyin([tiyin(MAX_TIYIN), tiyin(1)])).toEqual({ kind: 'too_large' });
    expect(sumTiyin([tiyin(-MAX_TIYIN)])).toEqual({ kind: 'ok', totalTiyin: -MAX_TIYIN });
    expect(sumTiyin([tiyin(-MAX_TIYIN), tiyin(-1)])).toEqual({ kind: 'too_large' });
  });

  test('passes through sums beyond 2^53 without losing a tiyin', () => {
    expect(sumTiyin([tiyin(MAX_TIYIN), tiyin(2), tiyin(-3)])).toEqual({ kind: 'ok', totalTiyin: MAX_TIYIN - 1 });
  });

  test('of nothing is 0', () => {
    expect(sumTiyin([])).toEqual({ kind: 'ok', totalTiyin: 0 });
  });
});
