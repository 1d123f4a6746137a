// Promise: line totals and VAT are exact to the tiyin, as the tax office computes them.
import fc from 'fast-check';
import { lineTotal } from './line.js';
import { MAX_TIYIN, tiyin } from './money.js';
import { thousandths } from './quantity.js';
import { resolvedTotals } from './receipt.js';
import { vatContained, wireVat, type VatPercent } from './vat.js';

const amounts = (price: number, quantity: number, discount = 0) => ({
  priceTiyin: tiyin(price),
  quantity: thousandths(quantity),
  discountTiyin: tiyin(discount),
});

/** Independent of divideHalfUp: floor of the doubled fraction plus one, halved. */
const roundHalfUp = (numerator: bigint, denominator: bigint): bigint => {
  const floor = numerator / denominator;
  return (numerator % denominator) * 2n >= denominator ? floor + 1n : floor;
};

describe('lineTotal', () => {
  test.each([
    [104, 300, 0, 31],
    [1, 500, 0, 1],
    [1, 499, 0, 0],
    [100_000, 1000, 50_000, 50_000],
    [50_000, 2000, 100_000, 0],
    [333, 1005, 0, 335],
    [MAX_TIYIN, 1000, 0, MAX_TIYIN],
  ])('%p × %p − %p = %p', (price, quantity, discount, expected) => {
    expect(lineTotal(amounts(price, quantity, discount))).toEqual({ kind: 'ok', totalTiyin: expected });
  });

  test('names a discount above the line, also by one tiyin', () => {
    expect(lineTotal(amounts(104, 300, 32))).toEqual({ kind: 'negative' });
    expect(lineTotal(amounts(104, 300, 31))).toEqual({ kind: 'ok', totalTiyin: 0 });
  });

  test('names a product beyond 2^53, also when a discount would bring it back', () => {
    expect(lineTotal(amounts(MAX_TIYIN, 1001))).toEqual({ kind: 'too_large' });
    expect(lineTotal(amounts(MAX_TIYIN, 2000, MAX_TIYIN))).toEqual({ kind: 'too_large' });
  });

  test('agrees with an independent computation', () => {
    const price = fc.integer({ min: 0, max: MAX_TIYIN });
    const quantity = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: MAX_TIYIN }));
    fc.assert(
      fc.property(price, quantity, fc.integer({ min: 0, max: MAX_TIYIN }), (p, q, d) => {
        const gross = roundHalfUp(BigInt(p) * BigInt(q), 1000n);
        const actual = lineTotal(amounts(p, q, d));
        if (gross > BigInt(MAX_TIYIN)) return expect(actual.kind).toBe('too_large');
        if (gross < BigInt(d)) return expect(actual.kind).toBe('negative');
        return expect(actual).toEqual({ kind: 'ok', totalTiyin: Number(gross - BigInt(d)) });
      }),
    );
  });
});

describe('vatContained', () => {
  test.each([
    [2_000_000, 214_286],
    [800_000, 85_714],
    [1_000, 107],
    [50_000, 5_357],
    [150_000, 16_071],
    [99, 11],
    [112, 12],
    [1, 0],
    [0, 0],
    [MAX_TIYIN, 965_057_063_007_963],
  ])('12 %% of %p contained is %p', (net, expected) => {
    expect(vatContained(net, 12)).toBe(expected);
  });

  test.each([0, 1, 2_000_000, MAX_TIYIN])('zero-rated %p has none', (net) => {
    expect(vatContained(net, 0)).toBe(0);
  });

  test.each([-1, 0.5, NaN, MAX_TIYIN + 1])('refuses %p', (net) => {
    expect(() => vatContained(net, 12)).toThrow(RangeError);
  });

  test('agrees with an independent computation', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_TIYIN }), fc.integer({ min: 0, max: 100 }), (net, percent) => {
        const expected = roundHalfUp(BigInt(net) * BigInt(percent), 100n + BigInt(percent));
        expect(vatContained(net, percent)).toBe(Number(expected));
      }),
    );
  });
});

describe('wireVat', () => {
  test('takes unit price, line or net, by the rule', () => {
    const line = { ...amounts(100_000, 3000, 250_000), vatPercent: 12 as VatPercent };
    expect(wireVat('unit', line)).toBe(10_714);
    expect(wireVat('line', line)).toBe(32_143);
    expect(wireVat('line-net', line)).toBe(5_357);
  });

  test('all rules agree for one piece without discount', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_TIYIN }), fc.constantFrom<VatPercent>(0, 12), (price, vatPercent) => {
        const line = { ...amounts(price, 1000), vatPercent };
        const vat = wireVat('unit', line);
        expect([wireVat('line', line), wireVat('line-net', line)]).toEqual([vat, vat]);
      }),
    );
  });

  test('throws for a line without a valid total', () => {
    expect(() => wireVat('line', { ...amounts(MAX_TIYIN, 2000), vatPercent: 12 })).toThrow(RangeError);
    expect(() => wireVat('line-net', { ...amounts(1, 1000, 2), vatPercent: 12 })).toThrow(RangeError);
  });
});

describe('resolvedTotals', () => {
  test('adds totals and VAT', () => {
    const lines = [
      { totalTiyin: tiyin(2_000_000), vatTiyin: tiyin(214_286) },
      { totalTiyin: tiyin(800_000), vatTiyin: tiyin(85_714) },
    ];
    expect(resolvedTotals(lines)).toEqual({ totalTiyin: 2_800_000, vatTotalTiyin: 300_000 });
  });

  test('throws beyond 2^53 instead of losing tiyin', () => {
    const line = { totalTiyin: tiyin(MAX_TIYIN), vatTiyin: tiyin(0) };
    expect(() => resolvedTotals([line, { totalTiyin: tiyin(1), vatTiyin: tiyin(0) }])).toThrow(RangeError);
  });
});
