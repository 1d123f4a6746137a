// Promise: a body that no E-code covers is refused with the field that is to blame, and what passes can be summed up safely.
import fc from 'fast-check';
import type { LocalReceiptRequest } from './local-api.js';
import { localReceiptTotals } from './local-amounts.js';
import { MAX_ITEMS } from './legal-limits.js';
import { localShapeProblem } from './local-shape.js';
import { checkLocalReceipt } from './local-receipt-rules.js';
import { MAX_TIYIN } from './money.js';

type Fields = Record<string, unknown>;

const item = (more: Fields = {}): Fields => ({
  name: 'Bread',
  spic: '01905001001000000',
  units: 796,
  price: 1000,
  amount: 1000,
  vatPercent: 12,
  vat: 107,
  ...more,
});
const receipt = (...items: unknown[]): Fields => ({ type: 'sale', items, received: { cash: 0, card: 1000 } });

const NOT_WHOLE: unknown[] = [null, '1000', 1.5, NaN, 1e300, MAX_TIYIN + 1, {}, [], true];

test('a good body has none', () => {
  expect(localShapeProblem(receipt(item()))).toBeNull();
});

test.each([undefined, null, 5, 'x', [], true])('%p is no body', (body) => {
  expect(localShapeProblem(body)).toMatchObject({ field: '', itemIndex: null });
});

test.each([undefined, null, [], 'x', {}])('items %p is left to E-006', (items) => {
  expect(localShapeProblem({ ...receipt(), items })).toBeNull();
});

test('at most 500 items', () => {
  const items = Array.from({ length: MAX_ITEMS }, () => item());
  expect(localShapeProblem(receipt(...items))).toBeNull();
  expect(localShapeProblem(receipt(...items, item()))).toMatchObject({ field: 'items', itemIndex: null });
});

test.each([null, 5, 'x', [], undefined])('%p is no item', (value) => {
  expect(localShapeProblem(receipt(item(), value))).toEqual({
    message: 'item 2: must be an object',
    itemIndex: 1,
    itemName: null,
    field: '',
  });
});

test.each<[string, unknown[]]>([
  ['amount', [undefined, 0, -1, -1000, ...NOT_WHOLE]],
  ['units', [undefined, -1, ...NOT_WHOLE]],
  ['discount', [-1, 1001, ...NOT_WHOLE.slice(1)]],
  ['labels', ['L1', {}, 5, [1], ['L1', null], ['x'.repeat(129)], ['a\u0000'], ['\ud800'], Array(301).fill('L')]],
  ['label', [5, {}, ['L1'], 'ў'.repeat(65), 'a\u0000']],
  ['barcode', [5, {}, '1'.repeat(64), '\udc00']],
  ['packageCode', [5, {}, '1'.repeat(64), 'a\u0000']],
  ['name', ['a\u0000b', 'a\ud800']],
])('%s: each of %j is a problem of that field', (field, values) => {
  for (const value of values) {
    expect([value, localShapeProblem(receipt(item(), item({ [field]: value })))]).toEqual([
      value,
      expect.objectContaining({ field, itemIndex: 1 }),
    ]);
  }
});

test.each<[string, unknown[]]>([
  ['amount', [1, 999, 1005, 5_000_000]],
  ['units', [0, 796]],
  ['discount', [undefined, null, 0, 1, 999]],
  ['labels', [undefined, null, [], ['L1\u001d93'], Array(300).fill('L')]],
  ['label', [undefined, null, '', 'x'.repeat(128)]],
  ['barcode', [undefined, null, '', '1'.repeat(63)]],
  ['packageCode', [undefined, null, '', '1'.repeat(63)]],
  ['name', [undefined, 5, '', 'x'.repeat(1000), 'a\tb']],
  ['price', [undefined, 0, -5, 'x', 1.5]],
])('%s: none of %j is', (field, values) => {
  for (const value of values) {
    expect([value, localShapeProblem(receipt(item({ [field]: value })))]).toEqual([value, null]);
  }
});

test('what a refund says of its sale has bounds, and a sale is not asked for it', () => {
  const refundInfo = { terminalId: 'UZ000000000001', receiptSeq: 1, dateTime: '20260101T000000', fiscalSign: '1' };
  const refund = { ...receipt(item()), type: 'refund', refundInfo };
  expect(localShapeProblem(refund)).toBeNull();
  for (const field of ['terminalId', 'fiscalSign']) {
    for (const value of ['x'.repeat(64), 'a\u0000', '\ud800']) {
      const odd = { ...refund, refundInfo: { ...refundInfo, [field]: value } };
      expect(localShapeProblem(odd)).toMatchObject({ field: `refundInfo.${field}`, itemIndex: null });
      expect(localShapeProblem({ ...odd, type: 'sale' })).toBeNull();
    }
  }
});

test('a line beyond 2^53 is a problem of its item, a total beyond 2^53 of the receipt', () => {
  expect(localShapeProblem(receipt(item({ price: MAX_TIYIN, amount: 1001 })))).toMatchObject({ field: 'price' });
  expect(localShapeProblem(receipt(item({ price: MAX_TIYIN })))).toBeNull();
  expect(localShapeProblem(receipt(item({ price: MAX_TIYIN }), item({ price: 1 })))).toMatchObject({
    field: 'items',
    itemIndex: null,
  });
});

test('a line may be free, a receipt may not', () => {
  expect(localShapeProblem(receipt(item({ discount: 1000 }), item()))).toBeNull();
  expect(localShapeProblem(receipt(item({ discount: 1000 })))).toMatchObject({ field: 'items' });
});

test('localReceiptTotals takes the VAT of the net, whatever the wire says', () => {
  const body = receipt(
    item({ price: 100_000, amount: 3000, discount: 250_000, vat: 10_714 }),
    item({ price: 104, amount: 300, vatPercent: 0, vat: 0 }),
  ) as unknown as LocalReceiptRequest;
  expect(localReceiptTotals(body)).toEqual({
    lines: [
      { totalTiyin: 50_000, vatTiyin: 5_357 },
      { totalTiyin: 31, vatTiyin: 0 },
    ],
    totalTiyin: 50_031,
    vatTotalTiyin: 5_357,
  });
});

test('whatever passes rules and shape can be summed up', () => {
  const goods = { packages: [], marked: false, cashAllowed: true, active: true };
  const wild = fc.oneof(
    fc.integer({ min: -2, max: 5000 }),
    fc.constantFrom<unknown>(MAX_TIYIN, 0.5, 'x', null, undefined),
  );
  const items = fc.array(fc.record({ price: wild, amount: wild, discount: wild, vat: wild }), { maxLength: 4 });
  let passed = 0;
  fc.assert(
    fc.property(items, (list) => {
      const body = receipt(...list.map((fields) => item(fields)));
      const refused = checkLocalReceipt(body, () => goods, 'unit').filter(({ code }) => code !== 'E-016');
      if (localShapeProblem(body) !== null || refused.length > 0) return;
      passed += 1;
      const totals = localReceiptTotals(body as unknown as LocalReceiptRequest);
      expect(totals.totalTiyin).toBe(totals.lines.reduce((sum, line) => sum + line.totalTiyin, 0));
    }),
    { numRuns: 2000 },
  );
  expect(passed).toBeGreaterThan(10);
});

test('no parsed JSON makes it throw', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (body, value) => {
      localShapeProblem(body);
      localShapeProblem(receipt(value));
      for (const field of Object.keys(item())) localShapeProblem(receipt(item({ [field]: value })));
    }),
  );
});
