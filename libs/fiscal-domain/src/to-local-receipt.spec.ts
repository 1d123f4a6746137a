// Promise: what the gateway accepted is what the register gets: same total to the tiyin, and nothing the register would refuse.
import fc from 'fast-check';
import { lineTotal } from './line.js';
import { checkLocalReceipt, type GoodsEntry } from './local-receipt-rules.js';
import { localReceiptTotals } from './local-amounts.js';
import { localShapeProblem } from './local-shape.js';
import { tiyin } from './money.js';
import { requestPaymentGap } from './payment-gap.js';
import { thousandths } from './quantity.js';
import { resolvedTotals, type ReceiptDocument, type ReceiptLine } from './receipt.js';
import { toLocalReceipt } from './to-local-receipt.js';
import { VAT_RULES, vatContained, type VatPercent } from './vat.js';

interface Amounts {
  price: number;
  quantity: number;
  discount?: number;
  total?: number;
  vatPercent?: VatPercent;
}

function line({ price, quantity, discount = 0, total, vatPercent = 12 }: Amounts): ReceiptLine {
  const amounts = { priceTiyin: tiyin(price), quantity: thousandths(quantity), discountTiyin: tiyin(discount) };
  const own = lineTotal(amounts);
  const totalTiyin = tiyin(total ?? (own.kind === 'ok' ? own.totalTiyin : NaN));
  return {
    line: 1,
    sku: 'B-1',
    name: 'Bread',
    ...amounts,
    totalTiyin,
    vatPercent,
    vatTiyin: vatContained(totalTiyin, vatPercent),
    spic: '01905001001000000',
    packageCode: '1000',
    units: 796,
    barcode: null,
    labels: [],
    commission: null,
  };
}

function sale(lines: ReceiptLine[], more: Partial<ReceiptDocument> = {}): ReceiptDocument {
  const totals = resolvedTotals(lines);
  const payment = { method: 'card' as const, provider: null, cashTiyin: tiyin(0), cardTiyin: totals.totalTiyin };
  return { type: 'sale', lines, payment, ...totals, customer: null, refundInfo: null, ...more };
}

const GOODS: GoodsEntry = { packages: ['1000'], marked: false, cashAllowed: true, active: true };

test('a plain sale, in the specification’s casing and nothing more', () => {
  expect(toLocalReceipt(sale([line({ price: 2_000_000, quantity: 2000 })]), 'unit')).toEqual({
    type: 'sale',
    items: [
      {
        name: 'Bread',
        spic: '01905001001000000',
        units: 796,
        price: 2_000_000,
        amount: 2000,
        vatPercent: 12,
        vat: 214_286,
        packageCode: '1000',
      },
    ],
    received: { cash: 0, card: 4_000_000 },
  });
});

test('discount, barcode, labels and package code only where there are any', () => {
  const full = {
    ...line({ price: 1000, quantity: 2000, discount: 1 }),
    barcode: '4780',
    labels: ['L1', 'L2'],
    packageCode: '',
  };
  const [item] = toLocalReceipt(sale([full]), 'line').items;
  expect(item).toMatchObject({ discount: 1, barcode: '4780', label: 'L1', labels: ['L1', 'L2'], vat: 214 });
  expect(item).not.toHaveProperty('packageCode');
});

test('a refund carries refundInfo, verbatim and without extra members', () => {
  const refundInfo = {
    terminalId: 'ZZ000000000001',
    receiptSeq: 7,
    dateTime: '20261120T111200',
    fiscalSign: '123456789012',
  };
  const document = sale([line({ price: 1000, quantity: 1000 })], {
    type: 'refund',
    refundInfo: { ...refundInfo, ...{ id: 'x' } },
  });
  expect(toLocalReceipt(document, 'unit').refundInfo).toEqual(refundInfo);
});

test('the VAT of a line is chosen by the rule; by the net it is the document’s own', () => {
  const amounts = line({ price: 100_000, quantity: 3000, discount: 250_000 });
  const vat = (document: ReceiptLine) => VAT_RULES.map((rule) => toLocalReceipt(sale([document]), rule).items[0]?.vat);
  expect(vat(amounts)).toEqual([10_714, 32_143, 5_357]);
  expect(vat({ ...amounts, vatTiyin: tiyin(5_358) })).toEqual([10_714, 32_143, 5_358]);
});

describe('a refund’s share that is not price × quantity', () => {
  test.each<[Amounts, number, number | undefined]>([
    [{ price: 100, quantity: 333, total: 34 }, 101, undefined],
    [{ price: 100, quantity: 333, total: 32 }, 100, 1],
    [{ price: 1000, quantity: 3000, discount: 1000, total: 2001 }, 1000, 999],
    [{ price: 1000, quantity: 3000, total: 3001 }, 1001, 2],
    [{ price: 10, quantity: 1, total: 1 }, 500, undefined],
    [{ price: 1000, quantity: 3000, total: 0 }, 1000, 3000],
  ])('%j: unit price %p, discount %p', (amounts, price, discount) => {
    const [item] = toLocalReceipt(sale([line(amounts)]), 'unit').items;
    expect([item?.price, item?.discount]).toEqual([price, discount]);
  });
});

test('every document keeps its total on the wire and passes the register’s own rules, under every VAT rule', () => {
  const amounts = fc
    .record({
      price: fc.integer({ min: 1, max: 10 ** 9 }),
      quantity: fc.integer({ min: 1, max: 10 ** 6 }),
      percent: fc.integer({ min: 0, max: 100 }),
      shift: fc.integer({ min: -3, max: 3 }),
      vatPercent: fc.constantFrom<VatPercent>(0, 12),
    })
    .map(({ price, quantity, percent, shift, vatPercent }) => {
      const gross = Number((BigInt(price) * BigInt(quantity) + 500n) / 1000n);
      const discount = Math.floor((gross / 100) * percent);
      return { price, quantity, discount, total: Math.max(0, gross - discount + shift), vatPercent };
    });
  fc.assert(
    fc.property(fc.array(amounts, { minLength: 1, maxLength: 5 }), fc.constantFrom(...VAT_RULES), (list, rule) => {
      const document = sale(list.map(line));
      fc.pre(document.totalTiyin > 0);
      const request = toLocalReceipt(document, rule);
      expect(localShapeProblem(request)).toBeNull();
      expect(checkLocalReceipt(request, () => GOODS, rule)).toEqual([]);
      expect(localReceiptTotals(request)).toMatchObject(resolvedTotals(document.lines));
      expect(requestPaymentGap(request)).toBe(0n);
    }),
    { numRuns: 500 },
  );
});
