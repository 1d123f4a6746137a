// Promise: counters prove a receipt registered, or not registered, only when nothing else explains them.
import {
  calibrate,
  describeDifference,
  growthOf,
  proveByCounters,
  sameReading,
  type Calibration,
  type ExpectedGrowth,
} from './counter-proof.js';
import { tiyin } from './money.js';
import type { CounterReading, FiscalSums } from './outcome.js';
import type { Thousandths } from './quantity.js';
import type { ReceiptDocument, ReceiptType } from './receipt.js';
import { vatContained, type VatPercent } from './vat.js';

const NONE: FiscalSums = { saleCash: 0, saleCard: 0, refundCash: 0, refundCard: 0, saleVat: 0, refundVat: 0 };
const BEFORE = reading(40, { saleCash: 900, saleCard: 500, saleVat: 100, refundCash: 50 });
/** 112.00 in cash, 12.00 of it VAT, one line. */
const OURS: ExpectedGrowth = { sums: { ...NONE, saleCash: 11_200, saleVat: 1_200 }, vatToleranceTiyin: 1 };
const AFTER_OURS = grown(1, { saleCash: 11_200, saleVat: 1_200 });
const EXACT: Calibration = { sequenceOffset: 0, tiyinPerUnit: 1 };

describe('what two equal readings after the settle time prove', () => {
  interface Row {
    now: CounterReading;
    first?: CounterReading;
    growth?: ExpectedGrowth | null;
    calibration?: Calibration | null;
    exclusive?: boolean;
    expected: string;
  }

  test.each<[string, Row]>([
    ['nothing moved', { now: BEFORE, expected: 'not_registered' }],
    ['nothing moved, shared', { now: BEFORE, exclusive: false, expected: 'not_registered' }],
    ['nothing moved, never calibrated', { now: BEFORE, calibration: null, expected: 'not_registered' }],
    ['nothing moved, an advance', { now: BEFORE, growth: null, expected: 'not_registered' }],
    ['the two readings differ', { first: BEFORE, now: AFTER_OURS, expected: 'moving' }],
    ['the two readings differ in a sum', { first: grown(1, {}), now: grown(1, { saleCard: 1 }), expected: 'moving' }],
    [
      'the two readings differ in the terminal',
      { first: { ...BEFORE, terminalId: 'UZ9' }, now: BEFORE, expected: 'moving' },
    ],
    ['exactly ours, exclusive and calibrated', { now: AFTER_OURS, expected: 'registered 41' }],
    ['exactly ours, shared', { now: AFTER_OURS, exclusive: false, expected: 'unproven' }],
    ['exactly ours, not calibrated', { now: AFTER_OURS, calibration: null, expected: 'unproven' }],
    ['exactly ours, but an advance is expected', { now: AFTER_OURS, growth: null, expected: 'unproven' }],
    ['ours on another terminal', { now: { ...AFTER_OURS, terminalId: 'UZ9' }, expected: 'unproven' }],
    ['ours and one more', { now: grown(2, { saleCash: 11_200, saleVat: 1_200 }), expected: 'unproven' }],
    ['ours twice', { now: grown(2, { saleCash: 22_400, saleVat: 2_400 }), expected: 'unproven' }],
    [
      'the sums are ours, the sequence stands',
      { now: grown(0, { saleCash: 11_200, saleVat: 1_200 }), expected: 'unproven' },
    ],
    ['the sequence went back', { now: grown(-1, {}), expected: 'unproven' }],
    ['one document without sums', { now: grown(1, {}), expected: 'unproven' }],
    ['one tiyin too much', { now: grown(1, { saleCash: 11_201, saleVat: 1_200 }), expected: 'unproven' }],
    ['one tiyin too little', { now: grown(1, { saleCash: 11_199, saleVat: 1_200 }), expected: 'unproven' }],
    ['paid by card instead', { now: grown(1, { saleCard: 11_200, saleVat: 1_200 }), expected: 'unproven' }],
    ['a refund of the same sum', { now: grown(1, { refundCash: 11_200, refundVat: 1_200 }), expected: 'unproven' }],
    [
      'ours and a card sum moved',
      { now: grown(1, { saleCash: 11_200, saleCard: 1, saleVat: 1_200 }), expected: 'unproven' },
    ],
    [
      'VAT rounded up by the module',
      { now: grown(1, { saleCash: 11_200, saleVat: 1_201 }), expected: 'registered 41' },
    ],
    [
      'VAT rounded down by the module',
      { now: grown(1, { saleCash: 11_200, saleVat: 1_199 }), expected: 'registered 41' },
    ],
    ['VAT beyond its tolerance', { now: grown(1, { saleCash: 11_200, saleVat: 1_202 }), expected: 'unproven' }],
    [
      'VAT of refunds moved too: no tolerance',
      { now: grown(1, { saleCash: 11_200, saleVat: 1_200, refundVat: 1 }), expected: 'unproven' },
    ],
    [
      'reported sequence is the next one',
      { now: AFTER_OURS, calibration: { ...EXACT, sequenceOffset: 1 }, expected: 'registered 40' },
    ],
    [
      'reported sequence lags behind',
      { now: AFTER_OURS, calibration: { ...EXACT, sequenceOffset: -1 }, expected: 'registered 42' },
    ],
    [
      'counts in sums',
      {
        now: grown(1, { saleCash: 112, saleVat: 12 }),
        calibration: { ...EXACT, tiyinPerUnit: 100 },
        expected: 'registered 41',
      },
    ],
    [
      'counts in sums, other money',
      {
        now: grown(1, { saleCash: 114, saleVat: 12 }),
        calibration: { ...EXACT, tiyinPerUnit: 100 },
        expected: 'unproven',
      },
    ],
    [
      'tiyin where sums are expected',
      { now: AFTER_OURS, calibration: { ...EXACT, tiyinPerUnit: 100 }, expected: 'unproven' },
    ],
    [
      'sums of which products leave 2^53',
      {
        now: grown(1, { saleCash: Number.MAX_SAFE_INTEGER - 900 }),
        calibration: { ...EXACT, tiyinPerUnit: 100 },
        expected: 'unproven',
      },
    ],
  ])('%s', (_name, { now, first = now, growth = OURS, calibration = EXACT, exclusive = true, expected }) => {
    const proof = proveByCounters({ baseline: BEFORE, growth }, { first, second: now }, { calibration, exclusive });
    expect(proof.kind === 'registered' ? `registered ${proof.receiptSeq}` : proof.kind).toBe(expected);
    if (proof.kind === 'unproven') expect(proof.difference).not.toBe('');
    if (proof.kind === 'registered') expect(proof.terminalId).toBe(now.terminalId);
  });

  test('a foreign sale of equal sums passes for ours on a device that is declared exclusive: that is what the word means', () => {
    const foreign = AFTER_OURS;
    const attempt = { baseline: BEFORE, growth: OURS };
    const readings = { first: foreign, second: foreign };
    expect(proveByCounters(attempt, readings, { calibration: EXACT, exclusive: true }).kind).toBe('registered');
    expect(proveByCounters(attempt, readings, { calibration: EXACT, exclusive: false })).toMatchObject({
      kind: 'unproven',
      difference: expect.stringContaining('equals this receipt, but others sell on this register too'),
    });
  });
});

describe('what a document adds', () => {
  test.each<[ReceiptType, Partial<FiscalSums>]>([
    ['sale', { saleCash: 6_200, saleCard: 5_000, saleVat: 1_200 }],
    ['refund', { refundCash: 6_200, refundCard: 5_000, refundVat: 1_200 }],
  ])('%s', (type, sums) => {
    expect(growthOf(document(type, [[11_200, 12]]))).toEqual({ sums: { ...NONE, ...sums }, vatToleranceTiyin: 1 });
  });

  test.each<ReceiptType>(['advance', 'credit'])('%s: not known', (type) => {
    expect(growthOf(document(type, [[11_200, 12]]))).toBeNull();
  });

  test('VAT is counted line by line, its tolerance is one tiyin for each', () => {
    const growth = growthOf(
      document('sale', [
        [100, 12],
        [100, 12],
        [100, 0],
      ]),
    );
    expect(growth).toMatchObject({ sums: { saleVat: 22 }, vatToleranceTiyin: 3 });
  });
});

describe('calibration: how a device counts is learnt from a registration that is known', () => {
  type Known = { receiptSeq: number; growth: ExpectedGrowth | null };
  const known = { receiptSeq: 41, growth: OURS };

  test.each<[string, CounterReading, Known, Calibration | null]>([
    ['tiyin, last document', AFTER_OURS, known, EXACT],
    ['tiyin, next document', AFTER_OURS, { ...known, receiptSeq: 40 }, { ...EXACT, sequenceOffset: 1 }],
    ['tiyin, the one before', AFTER_OURS, { ...known, receiptSeq: 42 }, { ...EXACT, sequenceOffset: -1 }],
    ['sums', grown(1, { saleCash: 112, saleVat: 12 }), known, { ...EXACT, tiyinPerUnit: 100 }],
    ['VAT within its tolerance', grown(1, { saleCash: 11_200, saleVat: 1_199 }), known, EXACT],
    ['a sequence that no offset explains', AFTER_OURS, { ...known, receiptSeq: 7 }, null],
    ['a unit that is none of ours', grown(1, { saleCash: 1_120, saleVat: 120 }), known, null],
    ['another sale in between', grown(2, { saleCash: 11_200, saleVat: 1_200 }), known, null],
    ['nothing moved', BEFORE, known, null],
    ['an advance', grown(1, {}), { ...known, growth: null }, null],
    ['a document of nothing fits every unit', grown(1, {}), { ...known, growth: { ...OURS, sums: NONE } }, null],
  ])('%s', (_name, after, registration, expected) => {
    expect(calibrate(BEFORE, after, registration)).toEqual(expected);
  });
});

describe('readings', () => {
  test.each<[string, CounterReading, boolean]>([
    ['itself', BEFORE, true],
    ['another terminal', { ...BEFORE, terminalId: 'UZ9' }, false],
    ['another sequence', { ...BEFORE, sequence: 41 }, false],
    ...Object.keys(NONE).map((sum): [string, CounterReading, boolean] => [
      `another ${sum}`,
      { ...BEFORE, sums: { ...BEFORE.sums, [sum]: 12_345 } },
      false,
    ]),
  ])('equal to %s: %#', (_name, other, expected) => {
    expect(sameReading(BEFORE, other)).toBe(expected);
  });

  test.each<[string, CounterReading, boolean, string]>([
    ['one more', AFTER_OURS, false, '+1 documents, sales in cash +11200, VAT of sales +1200; not this receipt alone'],
    ['fewer', grown(-2, {}), false, '-2 documents, no sum moved; not this receipt alone'],
    [
      'refunds',
      grown(1, { refundCash: -5, refundCard: 7, refundVat: 1, saleCard: 2 }),
      false,
      '+1 documents, sales by card +2, refunds in cash -5, refunds by card +7, VAT of refunds +1; not this receipt alone',
    ],
    [
      'equal to ours',
      AFTER_OURS,
      true,
      '+1 documents, sales in cash +11200, VAT of sales +1200; equals this receipt, but others sell on this register too',
    ],
  ])('difference in words: %s', (_name, now, grewByOurs, words) => {
    expect(describeDifference(BEFORE, now, grewByOurs)).toBe(words);
  });
});

function reading(sequence: number, sums: Partial<FiscalSums>): CounterReading {
  return { terminalId: 'UZ000000000001', sequence, sums: { ...NONE, ...sums } };
}

/** What BEFORE has become. */
function grown(documents: number, by: Partial<FiscalSums>): CounterReading {
  const sums = { ...BEFORE.sums };
  for (const [sum, more] of Object.entries(by)) sums[sum as keyof FiscalSums] += more;
  return { ...BEFORE, sequence: BEFORE.sequence + documents, sums };
}

function document(type: ReceiptType, lines: [totalTiyin: number, vatPercent: VatPercent][]): ReceiptDocument {
  const total = lines.reduce((sum, [totalTiyin]) => sum + totalTiyin, 0);
  return {
    type,
    lines: lines.map(([totalTiyin, vatPercent], index) => ({
      ...{ line: index + 1, sku: null, name: 'Tea', quantity: 1_000 as Thousandths, priceTiyin: tiyin(totalTiyin) },
      ...{ discountTiyin: tiyin(0), totalTiyin: tiyin(totalTiyin), vatPercent },
      ...{ vatTiyin: vatContained(totalTiyin, vatPercent), spic: '1', packageCode: '1', units: 796 },
      ...{ barcode: null, labels: [], commission: null },
    })),
    payment: {
      method: 'mixed',
      provider: null,
      cashTiyin: tiyin(total - 5_000 > 0 ? total - 5_000 : total),
      cardTiyin: tiyin(total - 5_000 > 0 ? 5_000 : 0),
    },
    ...{ totalTiyin: tiyin(total), vatTotalTiyin: tiyin(0), customer: null, refundInfo: null },
  };
}
