// Promise: any sequence of partial refunds adds up to the sale, in quantity, tiyin and VAT, and not a tiyin more can be had.
import fc from 'fast-check';
import { localReceiptTotals } from './local-amounts.js';
import { checkLocalReceipt, type GoodsEntry } from './local-receipt-rules.js';
import { localShapeProblem } from './local-shape.js';
import { lineTotal } from './line.js';
import { MAX_TIYIN, tiyin } from './money.js';
import { thousandths } from './quantity.js';
import { resolvedTotals, type ReceiptLine } from './receipt.js';
import { leftOf, restOf, shareOfQuantity, shareOfSum } from './refund-ledger.js';
import { allThatIsLeft, partsOf, type LineRequest } from './refund-lines.js';
import { toLocalReceipt } from './to-local-receipt.js';
import { VAT_RULES, vatContained, type VatPercent } from './vat.js';

interface Amounts {
  price: number;
  quantity: number;
  discount?: number;
  vatPercent?: VatPercent;
  labels?: string[];
}

function sold(line: number, { price, quantity, discount = 0, vatPercent = 12, labels = [] }: Amounts): ReceiptLine {
  const amounts = { priceTiyin: tiyin(price), quantity: thousandths(quantity), discountTiyin: tiyin(discount) };
  const total = lineTotal(amounts);
  const totalTiyin = tiyin(total.kind === 'ok' ? total.totalTiyin : NaN);
  return {
    ...{ line, sku: null, name: 'Bread', ...amounts, totalTiyin, vatPercent },
    vatTiyin: vatContained(totalTiyin, vatPercent),
    ...{ spic: '01905001001000001', packageCode: '1500001', units: 796, barcode: null, labels, commission: null },
  };
}

/** Takes parts of one line, one after the other. */
function takeAll(line: ReceiptLine, requests: readonly LineRequest[]): ReceiptLine[] {
  const taken: ReceiptLine[] = [];
  for (const request of requests) {
    const parts = partsOf([line], leftOf([line], taken), [request]);
    if (parts.kind === 'refused') throw new Error(`refused: ${JSON.stringify(parts.refusals)}`);
    taken.push(...parts.lines);
  }
  return taken;
}

const byQuantity = (quantity: number, labels: string[] | null = null): LineRequest => ({
  ...{ by: 'quantity', line: 1, quantity: thousandths(quantity), labels },
});
const bySum = (sum: number): LineRequest => ({ by: 'sum', line: 1, totalTiyin: tiyin(sum) });

describe('shares', () => {
  test('104 × 0.3 = 31, returned in three parts of 0.1: 10, 11, 10', () => {
    const line = sold(1, { price: 104, quantity: 300 });
    expect(line.totalTiyin).toBe(31);
    const taken = takeAll(line, [byQuantity(100), byQuantity(100), byQuantity(100)]);
    expect(taken.map(({ totalTiyin }) => totalTiyin)).toEqual([10, 11, 10]);
  });

  test('a sum consumes the proportional quantity, rounded to 0.001', () => {
    const line = sold(1, { price: 30_000, quantity: 1000 });
    const taken = takeAll(line, [bySum(10_000), bySum(10_000)]);
    expect(taken.map(({ quantity }) => quantity)).toEqual([333, 334]);
    expect(restOf(leftOf([line], taken)[0]!)).toMatchObject({ quantity: 333, totalTiyin: 10_000 });
  });

  test('all but a tiyin leaves a quantity to refund it with', () => {
    const line = sold(1, { price: 1_000_000, quantity: 1000 });
    const taken = takeAll(line, [bySum(999_999)]);
    expect(leftOf([line], taken)).toMatchObject([{ quantityThousandths: 1, totalTiyin: 1 }]);
  });

  test('the smallest quantity there is cannot be divided, but returned as a whole', () => {
    const line = sold(1, { price: 1_000_000, quantity: 1 });
    const [left] = leftOf([line], []);
    expect(shareOfSum(line, left!, tiyin(1))).toEqual({ kind: 'indivisible' });
    expect(shareOfSum(line, left!, tiyin(1_000)).kind).toBe('share');
  });

  test('a sum for which no price within 2^53 stands is not a part of the line', () => {
    const line = sold(1, { price: 4_000_000_000_000_000, quantity: 2000 });
    const taken = takeAll(line, [byQuantity(1998)]);
    const [left] = leftOf([line], taken);
    expect(shareOfSum(line, left!, tiyin(left!.totalTiyin - 1)).kind).toBe('share');
    const thin = { ...line, quantity: thousandths(2) };
    expect(shareOfSum(thin, leftOf([thin], [])[0]!, tiyin(line.totalTiyin - 1))).toEqual({ kind: 'indivisible' });
  });

  test('what would leave a rest for which no price within 2^53 stands is not a part of the line', () => {
    const line = sold(1, { price: MAX_TIYIN, quantity: 2 });
    const [left] = leftOf([line], []);
    expect(shareOfSum(line, left!, tiyin(1))).toEqual({ kind: 'indivisible' });
    expect(shareOfSum(line, left!, line.totalTiyin)).toMatchObject({ kind: 'share', share: { quantity: 2 } });
  });

  test('more than is left is refused, by quantity and by sum', () => {
    const line = sold(1, { price: 1_000, quantity: 2000 });
    const [left] = leftOf([line], takeAll(line, [byQuantity(1000)]));
    expect(shareOfQuantity(line, left!, thousandths(1001))).toEqual({ kind: 'exceeds_left' });
    expect(shareOfSum(line, left!, tiyin(1_001))).toEqual({ kind: 'exceeds_left' });
  });
});

describe('lines', () => {
  const labels = ['a', 'b', 'c'];
  const marked = sold(1, { price: 1_000, quantity: 3000, labels });
  const refusalOf = (request: LineRequest, taken: ReceiptLine[] = []): string => {
    const parts = partsOf([marked], leftOf([marked], taken), [request]);
    return parts.kind === 'refused' ? (parts.refusals[0]?.reason ?? '') : 'none';
  };

  test.each<[string, LineRequest, string]>([
    ['a line that the sale has not', { ...byQuantity(1000), line: 2 }, 'line_unknown'],
    ['pieces that are not named', byQuantity(1000), 'labels_required'],
    ['fewer labels than pieces', byQuantity(2000, ['a']), 'labels_miscounted'],
    ['half a piece', byQuantity(500, ['a']), 'labels_miscounted'],
    ['a foreign label', byQuantity(1000, ['x']), 'label_not_left'],
    ['a label named twice', byQuantity(2000, ['a', 'a']), 'label_not_left'],
    ['a sum of marked goods', bySum(500), 'sum_of_pieces'],
    ['all pieces, unnamed', byQuantity(3000), 'none'],
    ['all their money', bySum(3_000), 'none'],
  ])('%s', (_what, request, reason) => {
    expect(refusalOf(request)).toBe(reason);
  });

  test('a piece comes back once', () => {
    const taken = takeAll(marked, [byQuantity(1000, ['b'])]);
    expect(taken[0]).toMatchObject({ labels: ['b'], originalLine: 1, line: 1 });
    expect(refusalOf(byQuantity(1000, ['b']), taken)).toBe('label_not_left');
    expect(allThatIsLeft([marked], leftOf([marked], taken))[0]?.labels).toEqual(['a', 'c']);
  });

  test('a line named twice in one request, and all refusals at once', () => {
    const requests = [byQuantity(1000, ['a']), byQuantity(1000, ['b']), { ...bySum(1), line: 9 }];
    const parts = partsOf([marked], leftOf([marked], []), requests);
    expect(parts).toMatchObject({
      kind: 'refused',
      refusals: [
        { reason: 'line_repeated', index: 1 },
        { reason: 'line_unknown', index: 2, left: null },
      ],
    });
  });

  test('lines are numbered anew and keep the number of their origin', () => {
    const lines = [sold(1, { price: 100, quantity: 1000 }), sold(2, { price: 200, quantity: 1000 })];
    const parts = partsOf(lines, leftOf(lines, []), [{ ...byQuantity(1000), line: 2 }]);
    expect(parts).toMatchObject({ kind: 'lines', lines: [{ line: 1, originalLine: 2, totalTiyin: 200 }] });
  });
});

/** A unit price that no other can be raised above, of which a part of a unit is sold. */
const beyondPrice = {
  price: fc.oneof(fc.constant(MAX_TIYIN), fc.integer({ min: 2 ** 51, max: MAX_TIYIN })),
  quantity: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 1_000 })),
};
const usualPrice = {
  price: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 90_000_000_000 })),
  quantity: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20_000 })),
};

/** Sales from sweets to cars and beyond, with and without discount. */
const anyLine = fc
  .record({
    amounts: fc.oneof({ weight: 3, arbitrary: fc.record(usualPrice) }, fc.record(beyondPrice)),
    discountShare: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
    vatPercent: fc.constantFrom<VatPercent>(0, 12),
  })
  .map(({ amounts, discountShare, vatPercent }) => {
    const gross = lineTotal({ ...sold(1, amounts) });
    const discount = gross.kind === 'ok' ? Math.floor(gross.totalTiyin * discountShare) : 0;
    return sold(1, { ...amounts, vatPercent, discount });
  });

const anyStep = fc.record({
  kind: fc.constantFrom('quantity', 'quantity', 'sum', 'give up'),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});

const GOODS: GoodsEntry = { packages: ['1500001'], marked: false, cashAllowed: true, active: true };

/** What the register would say about a refund of these lines, and whether it counts the very total. */
function complaintOf(lines: ReceiptLine[]): string | null {
  const totals = resolvedTotals(lines);
  if (totals.totalTiyin === 0) return null;
  const payment = { method: 'card' as const, provider: null, cashTiyin: tiyin(0), cardTiyin: totals.totalTiyin };
  const refundInfo = { terminalId: 'ZZ000000000001', receiptSeq: 1, dateTime: '20260101T000000', fiscalSign: '1' };
  for (const vatRule of VAT_RULES) {
    const request = toLocalReceipt({ type: 'refund', lines, payment, ...totals, customer: null, refundInfo }, vatRule);
    const [violation] = checkLocalReceipt(request, () => GOODS, vatRule);
    const problem = violation?.message ?? localShapeProblem(request)?.message ?? null;
    if (problem !== null) return problem;
    if (localReceiptTotals(request).totalTiyin !== totals.totalTiyin) return 'another total on the wire';
  }
  return null;
}

test('whatever is refunded and given up in between: the parts add up, and one more is refused', () => {
  fc.assert(
    fc.property(anyLine, fc.array(anyStep, { maxLength: 12 }), (line, steps) => {
      let taken: ReceiptLine[] = [];
      for (const { kind, share } of steps) {
        const [left] = leftOf([line], taken);
        if (!left || left.quantityThousandths === 0) break;
        if (kind === 'give up') {
          taken = taken.filter((_, index) => index !== Math.floor(share * taken.length));
          continue;
        }
        const of = (whole: number): number => Math.max(1, Math.floor(whole * share));
        if (kind === 'sum' && left.totalTiyin === 0) continue;
        const request = kind === 'sum' ? bySum(of(left.totalTiyin)) : byQuantity(of(left.quantityThousandths));
        const parts = partsOf([line], [left], [request]);
        // The only reason that a request within what is left may meet.
        if (parts.kind === 'refused') expect(parts.refusals[0]?.reason).toBe('indivisible');
        else {
          const [part] = parts.lines;
          expect(part?.quantity).toBeGreaterThan(0);
          expect(part?.vatTiyin).toBeGreaterThanOrEqual(0);
          if (kind === 'sum') expect(part?.totalTiyin).toBe(request.by === 'sum' && request.totalTiyin);
          expect(complaintOf(parts.lines)).toBeNull();
          taken.push(...parts.lines);
        }
      }
      const rest = allThatIsLeft([line], leftOf([line], taken));
      expect(complaintOf(rest)).toBeNull();
      taken.push(...rest);
      const sum = (pick: (part: ReceiptLine) => number): number => taken.reduce((all, part) => all + pick(part), 0);
      expect(sum((part) => part.quantity)).toBe(line.quantity);
      expect(sum((part) => part.totalTiyin)).toBe(line.totalTiyin);
      expect(sum((part) => part.vatTiyin)).toBe(line.vatTiyin);
      const [nothing] = leftOf([line], taken);
      expect(nothing).toMatchObject({ quantityThousandths: 0, totalTiyin: 0, vatTiyin: 0 });
      expect(shareOfQuantity(line, nothing!, thousandths(1))).toEqual({ kind: 'exceeds_left' });
      expect(shareOfSum(line, nothing!, tiyin(1))).toEqual({ kind: 'exceeds_left' });
      expect(allThatIsLeft([line], [nothing!])).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});
