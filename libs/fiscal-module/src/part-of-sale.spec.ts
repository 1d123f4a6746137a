// Breaks if a refund that is no part of its sale counts as one, or VAT is taken off a document and not off its lines.
import type { FiscalDocument, FiscalItem } from './fiscal-module.js';
import { isPartOfSale, withVatUpTo } from './part-of-sale.js';

const item = (name: string, total: number, more: Partial<FiscalItem> = {}): FiscalItem => ({
  ...{ name, total, price: total, amount: 1_000, discount: 0, vat: 1, vat_percent: 12, labels: [], barcode: null },
  ...{ spic: '01905001001000001', package_code: '1500001', units: 796 },
  ...more,
});

describe('a sale of 10 and 20 of bread in two lines, and 5 of milk', () => {
  const sale = { items: [item('Non', 10), item('Non', 20, { price: 2 }), item('Sut', 5)] };

  test.each<[string, FiscalItem[], FiscalItem[], boolean]>([
    ['one line', [item('Non', 10)], [], true],
    ['more than one line of it had, and no more than both', [item('Non', 30)], [], true],
    ['two lines at once', [item('Non', 15), item('Non', 15), item('Sut', 5)], [], true],
    ['a tiyin more than both had', [item('Non', 31)], [], false],
    ['the same in two lines', [item('Non', 15), item('Non', 16)], [], false],
    ['what is left', [item('Non', 20)], [item('Non', 10)], true],
    ['a tiyin more than is left', [item('Non', 21)], [item('Non', 10)], false],
    ['milk, where too much bread has come back', [item('Sut', 5)], [item('Non', 40)], true],
    ['goods that were not sold', [item('Tuz', 1)], [], false],
    ['goods that were sold without VAT', [item('Sut', 5, { vat_percent: 0 })], [], false],
  ])('%s', (_what, refund, earlier, isPart) => {
    expect(isPartOfSale({ items: refund }, sale, [{ items: earlier }])).toBe(isPart);
  });
});

test.each([
  [5, [2, 3]],
  [6, [2, 3]],
  [4, [1, 3]],
  [1, [0, 1]],
  [0, [0, 0]],
])('of VAT of 2 and 3 there may be %i', (most, left) => {
  const items = [item('Non', 10, { vat: 2 }), item('Sut', 10, { vat: 3 })];
  const document: FiscalDocument = {
    type: 'refund',
    items,
    cashTiyin: 20,
    cardTiyin: 0,
    vatTiyin: 5,
    refundInfo: null,
  };
  const { items: cut, vatTiyin } = withVatUpTo(document, most);
  expect(cut.map(({ vat }) => vat)).toEqual(left);
  expect(vatTiyin).toBe(Math.min(most, 5));
});
