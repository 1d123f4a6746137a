// Promise: however a receipt is refunded, all refunds together are the receipt: quantity, total, VAT, cash and card.
import fc from 'fast-check';
import type { StoredReceiptDocument } from '#database';
import {
  lineTotal,
  requestPaymentGap,
  resolvedTotals,
  thousandths,
  tiyin,
  toLocalReceipt,
  vatContained,
  type ReceiptLine,
} from '#fiscal-domain';
import {
  composeRefund,
  lostByRegister,
  refundViolations,
  type ComposedRefund,
  type RefundQuestion,
} from './compose-refund.js';
import type { RefundBody } from './refund-body.js';

const REFUND_INFO = {
  terminalId: 'UZ000000000001',
  receiptSeq: 7,
  dateTime: '20260102T080405',
  fiscalSign: '012345678901',
};

interface Sold {
  price: number;
  quantity: number;
  vatPercent: 0 | 12;
}

function lineOf({ price, quantity, vatPercent }: Sold, index: number): ReceiptLine {
  const amounts = { priceTiyin: tiyin(price), quantity: thousandths(quantity), discountTiyin: tiyin(0) };
  const total = lineTotal(amounts);
  const totalTiyin = tiyin(total.kind === 'ok' ? total.totalTiyin : NaN);
  return {
    ...{ line: index + 1, sku: null, name: 'Non', ...amounts, totalTiyin, vatPercent },
    vatTiyin: vatContained(totalTiyin, vatPercent),
    ...{ spic: '01905001001000001', packageCode: '1500001', units: 796, barcode: null, labels: [], commission: null },
  };
}

function saleOf(sold: readonly Sold[], cashShare = 1): StoredReceiptDocument {
  const lines = sold.map(lineOf);
  const totals = resolvedTotals(lines);
  const cashTiyin = tiyin(Math.floor(totals.totalTiyin * cashShare));
  const cardTiyin = tiyin(totals.totalTiyin - cashTiyin);
  return {
    ...{ type: 'sale', lines, payment: { method: 'mixed', provider: 'humo', cashTiyin, cardTiyin }, ...totals },
    ...{ customer: { phone: '998901234567' }, refundInfo: null, metadata: { order: '7' }, callbackUrl: null },
  };
}

const ask = (
  sale: StoredReceiptDocument,
  ledger: StoredReceiptDocument[],
  body: RefundBody,
  fields: Pick<RefundQuestion, 'recordedFields' | 'areRequired'> = { recordedFields: [], areRequired: true },
): ComposedRefund => composeRefund({ sale, refundInfo: REFUND_INFO, ledger, body, ...fields });

const GOODS = { packages: ['1500001'], marked: false, cashAllowed: true, active: true };

const anyReceipt = fc.record({
  sold: fc.array(
    fc.record({
      price: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 1_000_000_000 })),
      quantity: fc.integer({ min: 1, max: 5_000 }),
      vatPercent: fc.constantFrom<0 | 12>(0, 12),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  cashShare: fc.constantFrom(0, 0.3, 0.77, 1),
  steps: fc.array(
    fc.record({
      line: fc.integer({ min: 1, max: 4 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      bySum: fc.boolean(),
    }),
    { maxLength: 10 },
  ),
});

test('any sequence of refunds of any receipt is the receipt in the end, and one more is refused', () => {
  fc.assert(
    fc.property(anyReceipt, ({ sold, cashShare, steps }) => {
      const sale = saleOf(sold, cashShare);
      if (sale.totalTiyin === 0) return;
      const ledger: StoredReceiptDocument[] = [];
      for (const { line, share, bySum } of steps) {
        const whole = sale.lines[line - 1];
        if (!whole) continue;
        const part = (of: number): number => Math.max(1, Math.floor(of * share));
        const asked = bySum
          ? { line, sum: part(whole.totalTiyin) }
          : { line, qty: (part(whole.quantity) / 1_000).toFixed(3) };
        const composed = ask(sale, ledger, { lines: [asked] });
        if (composed.kind !== 'composed') continue;
        expect(refundViolations(composed.document, { goods: () => GOODS, vatRule: 'line-net' }, {})).toEqual([]);
        ledger.push(composed.document);
      }
      const rest = ask(sale, ledger, {});
      if (rest.kind === 'composed') ledger.push(rest.document);
      for (const each of ledger) expect(requestPaymentGap(toLocalReceipt(each, 'unit'))).toBe(0n);
      const sum = (pick: (document: StoredReceiptDocument) => number): number =>
        ledger.reduce((all, document) => all + pick(document), 0);
      expect([sum((each) => each.totalTiyin), sum((each) => each.vatTotalTiyin)]).toEqual([
        sale.totalTiyin,
        sale.vatTotalTiyin,
      ]);
      expect([sum((each) => each.payment.cashTiyin), sum((each) => each.payment.cardTiyin)]).toEqual([
        sale.payment.cashTiyin,
        sale.payment.cardTiyin,
      ]);
      expect(ask(sale, ledger, {})).toEqual({ kind: 'nothing_left' });
      expect(ask(sale, ledger, { lines: [{ line: 1, qty: '0.001' }] })).toEqual({ kind: 'nothing_left' });
    }),
    { numRuns: 300 },
  );
});

test('the buyer and the way of paying are the sale’s, everything else is the refund’s own', () => {
  const composed = ask(saleOf([{ price: 1_000, quantity: 1_000, vatPercent: 12 }]), [], {
    metadata: { why: 'broken' },
  });
  expect(composed).toMatchObject({
    document: {
      ...{ type: 'refund', refundInfo: REFUND_INFO, metadata: { why: 'broken' }, callbackUrl: null },
      ...{ customer: { phone: '998901234567' }, payment: { method: 'mixed', provider: 'humo', cashTiyin: 1_000 } },
    },
  });
});

test('money that goes back is collected by nothing, and an empty provider is none', () => {
  const sale = saleOf([{ price: 1_000, quantity: 1_000, vatPercent: 12 }]);
  const strange = { method: 'card', token: 'tok_12345678', qr_code: '880101698207133392' } as const;
  expect(ask(sale, [], { payment: strange })).toMatchObject({
    kind: 'refused',
    faults: [{ pointer: '/payment/token' }, { pointer: '/payment/qr_code' }],
  });
  expect(ask(sale, [], { payment: { method: 'cash', provider: '' } })).toMatchObject({
    document: { payment: { method: 'cash', provider: null } },
  });
});

describe('a refund says what the document of its sale says', () => {
  const sale = saleOf([{ price: 1_000, quantity: 1_000, vatPercent: 12 }], 0);
  const wallet = {
    ...sale,
    lines: sale.lines.map((line) => ({ ...line, commission: { tin: '301234567' } })),
    customer: { tin: '309999999' },
    payment: { ...sale.payment, method: 'wallet' as const, provider: 'payme' },
  };
  const fieldsOf = (...asked: Parameters<typeof ask>): unknown => {
    const composed = ask(...asked);
    if (composed.kind !== 'composed') throw new Error('not composed');
    const { requiredFields, withheldFields, lines, customer } = composed.document;
    expect([lines[0]?.commission, customer]).toEqual([{ tin: '301234567' }, { tin: '309999999' }]);
    return [requiredFields, withheldFields, lostByRegister(composed.document, ['commission']).length];
  };

  test('not less where that is refused, and never more', () => {
    const recordedFields = ['commission', 'payment_provider'] as const;
    expect(fieldsOf(wallet, [], {}, { recordedFields, areRequired: true })).toEqual([recordedFields, ['customer'], 1]);
    expect(fieldsOf(wallet, [], {}, { recordedFields, areRequired: false })).toEqual([undefined, ['customer'], 0]);
    expect(fieldsOf(wallet, [], {})).toEqual([undefined, ['commission', 'customer'], 0]);
  });

  test('the wallet into which the money goes back is its own', () => {
    const payment = { method: 'wallet', provider: 'click' } as const;
    const recordedFields = ['commission', 'customer'] as const;
    const asked = { ...wallet, payment: sale.payment };
    expect(fieldsOf(asked, [], { payment }, { recordedFields, areRequired: true })).toEqual([
      recordedFields,
      undefined,
      1,
    ]);
  });
});

test('what the register would refuse is reported with pointers into the refund’s body', () => {
  const sale = saleOf([{ price: 1_000, quantity: 1_000, vatPercent: 12 }]);
  const body = { lines: [{ line: 1, qty: 1 }] };
  const composed = ask(sale, [], body);
  if (composed.kind !== 'composed') throw new Error('not composed');
  const { payment } = composed.document;
  const overpaid = { ...composed.document, payment: { ...payment, cashTiyin: tiyin(payment.cashTiyin + 101) } };
  const register = { goods: () => undefined, vatRule: 'unit' as const };
  const pointers = (asked: RefundBody): string[] =>
    refundViolations(overpaid, register, asked).map(({ code, pointer }) => `${code} ${pointer}`);
  expect(pointers(body)).toEqual(['E-013 /lines/0', 'E-009 /payment']);
  expect(pointers({})).toEqual(['E-013 ', 'E-009 /payment']);
});

test('what the classification register has made of the goods since the sale is not asked', () => {
  const sale = saleOf([{ price: 1_000, quantity: 300, vatPercent: 12 }]);
  const composed = ask(sale, [], {});
  if (composed.kind !== 'composed') throw new Error('not composed');
  const goods = { packages: ['9'], marked: true, cashAllowed: false, active: false };
  expect(refundViolations(composed.document, { goods: () => goods, vatRule: 'unit' }, {})).toEqual([]);
});

/** One of three sellers, or the merchant itself. */
const SELLERS = [null, { tin: '300000001' }, { tin: '300000002' }, { pinfl: '12345678901234' }] as const;

test('the refunds of all sellers of a sale, in any order, are the sale: each gets its own lines, to the tiyin', () => {
  const anySale = fc.record({
    sold: anyReceipt.map(({ sold }) => sold),
    cashShare: fc.constantFrom(0, 0.3, 1),
    sellers: fc.array(fc.constantFrom(0, 1, 2, 3), { minLength: 4, maxLength: 4 }),
    order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
  });
  fc.assert(
    fc.property(anySale, ({ sold, cashShare, sellers, order }) => {
      const bare = saleOf(sold, cashShare);
      if (bare.totalTiyin === 0) return;
      const sellerOf = (index: number) => SELLERS[sellers[index] ?? 0] ?? null;
      const lines = bare.lines.map((line, index) => ({ ...line, commission: sellerOf(index) }));
      const sale = { ...bare, lines };
      const ledger: StoredReceiptDocument[] = [];
      for (const each of order) {
        const seller = SELLERS[each] ?? null;
        const own = lines.filter(({ commission }) => commission === seller);
        const composed = ask(sale, ledger, { seller: seller ?? { own: true } });
        const total = own.reduce((sum, { totalTiyin }) => sum + totalTiyin, 0);
        expect(composed.kind === 'composed' ? composed.document.totalTiyin : 0).toBe(total);
        if (composed.kind === 'composed') ledger.push(composed.document);
      }
      const sum = (pick: (document: StoredReceiptDocument) => number): number =>
        ledger.reduce((all, document) => all + pick(document), 0);
      expect([
        ...[sum((each) => each.totalTiyin), sum((each) => each.vatTotalTiyin)],
        ...[sum(({ payment }) => payment.cashTiyin), sum(({ payment }) => payment.cardTiyin)],
      ]).toEqual([sale.totalTiyin, sale.vatTotalTiyin, sale.payment.cashTiyin, sale.payment.cardTiyin]);
      expect(ask(sale, ledger, {}).kind).toBe('nothing_left');
    }),
  );
});

test('a seller is one, and one of the sale', () => {
  const sale = saleOf([{ price: 100, quantity: 1_000, vatPercent: 0 }]);
  const codes = (body: RefundBody): string[] => {
    const composed = ask(sale, [], body);
    return composed.kind === 'refused' ? composed.faults.map(({ pointer, code }) => `${pointer} ${code}`) : [];
  };
  expect(codes({ seller: { tin: '300000001' } })).toEqual(['/seller line_unknown']);
  expect(codes({ seller: {} })).toEqual(['/seller invalid_value']);
  expect(codes({ seller: { tin: '300000001', own: true } })).toEqual(['/seller invalid_value']);
  expect(codes({ seller: { own: true }, lines: [{ line: 1, qty: 1 }] })).toEqual(['/seller invalid_value']);
  expect(codes({ seller: { own: true } })).toEqual([]);
});
