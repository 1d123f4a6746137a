// Promise: a Z-report that does not show what the gateway sold is noticed; other people's sales on a shared register are not.
import { compareZReport, type ShiftSums } from './z-report-comparison.js';

const SOLD: ShiftSums = {
  ...{ saleCash: 100_000, saleCard: 50_000, saleVat: 16_071, saleCount: 3 },
  ...{ refundCash: 10_000, refundCard: 0, refundVat: 1_071, refundCount: 1 },
};
const EXCLUSIVE = { vatToleranceTiyin: 4, isShared: false };
const SHARED = { vatToleranceTiyin: 4, isShared: true };

test('equal sums are equal, also with the VAT off by a tiyin per line', () => {
  expect(compareZReport(SOLD, SOLD, EXCLUSIVE)).toEqual({ kind: 'equal' });
  expect(compareZReport({ ...SOLD, saleVat: 16_075 }, SOLD, EXCLUSIVE)).toEqual({ kind: 'equal' });
  expect(compareZReport({ ...SOLD, refundVat: 1_067 }, SOLD, SHARED)).toEqual({ kind: 'equal' });
});

test('one tiyin more than the tolerance differs', () => {
  expect(compareZReport({ ...SOLD, saleVat: 16_076 }, SOLD, EXCLUSIVE)).toEqual({
    kind: 'different',
    difference: { saleVat: 5 },
  });
});

test.each(['saleCash', 'saleCard', 'saleCount', 'refundCash', 'refundCard', 'refundCount'] as const)(
  '%s has no tolerance',
  (field) => {
    const more = { ...SOLD, [field]: SOLD[field] + 1 };
    expect(compareZReport(more, SOLD, EXCLUSIVE)).toEqual({ kind: 'different', difference: { [field]: 1 } });
    expect(compareZReport(more, SOLD, SHARED)).toEqual({ kind: 'foreign_sales', difference: { [field]: 1 } });
    expect(compareZReport(SOLD, more, SHARED)).toEqual({ kind: 'different', difference: { [field]: -1 } });
  },
);

test('more in one sum and less in another is no foreign sale', () => {
  const odd = { ...SOLD, saleCash: SOLD.saleCash + 1, saleCard: SOLD.saleCard - 1 };
  expect(compareZReport(odd, SOLD, SHARED).kind).toBe('different');
});
