// Promise: whatever a rule refuses, the caller reads in its own language which line it is, what was given and what would be right.
import { checkLocalReceipt, LOCAL_RULES, type GoodsEntry } from '#fiscal-domain';
import { problemDocument } from '#http';
import { Problem, textOfProblem } from '#problems';
import { faultOfViolation } from './rule-faults.js';

const [BREAD, WATER, CARD_ONLY, OLD] = [
  '01905001001000000',
  '02202001001000001',
  '08703001001000002',
  '00000000000000003',
];
const plain: GoodsEntry = { packages: ['1000', '1001'], marked: false, cashAllowed: true, active: true };
const GOODS = new Map<string, GoodsEntry>([
  [BREAD, plain],
  [WATER, { ...plain, marked: true }],
  [CARD_ONLY, { ...plain, cashAllowed: false }],
  [OLD, { ...plain, active: false }],
]);

type Fields = Record<string, unknown>;
const item = (more: Fields = {}): Fields => ({
  ...{ name: 'Bread', spic: BREAD, units: 796, price: 1_120, amount: 1_000, vatPercent: 12, vat: 120 },
  ...{ packageCode: '1000', ...more },
});
const receipt = (more: Fields = {}): Fields => ({
  ...{ type: 'sale', items: [item(), item()], received: { cash: 0, card: 2_240 } },
  ...more,
});
const second = (more: Fields): Fields => receipt({ items: [item(), item(more)] });
const refundInfo = {
  terminalId: 'UZ000000000001',
  receiptSeq: 7,
  dateTime: '20261120T111200',
  fiscalSign: '123456789012',
};

/** What provokes it, then what of it every language must show: line, given, allowed. */
const CASES: [code: string, body: Fields, figures: string[]][] = [
  [
    'E-003',
    receipt({ items: [item(), item({ spic: CARD_ONLY })], received: { cash: 7, card: 2_233 } }),
    ['2:', ': 7', ': 0'],
  ],
  ['E-003', receipt({ cashSale: 0, received: { cash: 7, card: 2_233 } }), [': 7', ': 0']],
  ['E-004', second({ spic: WATER }), ['2:', ': 0', '≥ 1']],
  ['E-005', receipt({ type: 'gift' }), ['"gift"', 'sale, refund, advance, credit']],
  ['E-006', receipt({ items: [], received: { cash: 0, card: 0 } }), [': 0', '≥ 1']],
  ['E-007', receipt({ type: 'refund' }), ['terminalId, receiptSeq, dateTime, fiscalSign']],
  ['E-007', receipt({ type: 'refund', refundInfo: { ...refundInfo, dateTime: 'now' } }), ['"now"', 'YYYYMMDDTHHmmss']],
  ['E-008', receipt({ received: { cash: -5, card: 2_245 } }), [': -5', '≥ 0']],
  ['E-009', receipt({ received: { cash: 0, card: 9_999 } }), [': 9999', '≤ 2340']],
  ['E-010', receipt({ totalVAT: 241 }), [': 241', ': 240']],
  ['E-011', second({ name: ' ' }), ['2:', '" "', '≥ 1']],
  ['E-012', second({ price: 1.5 }), ['2:', ': 1.5', '> 0']],
  ['E-013', second({ spic: '1234' }), ['2:', '"1234"']],
  ['E-013', second({ spic: OLD }), ['2:', OLD]],
  ['E-014', second({ packageCode: '77' }), ['2:', '"77"', '1000, 1001']],
  ['E-015', second({ vatPercent: 15 }), ['2:', ': 15', '0, 12']],
  ['E-016', second({ vat: 500 }), ['2:', ': 500', '120 ± 100']],
  ['E-017', second({ spic: WATER, amount: 3_000, labels: ['A', 'B'], price: 1 }), ['2:', ': 2', ': 3']],
  ['E-018', second({ spic: WATER, amount: 500, label: 'A' }), ['2:', ': 0.5', '≥ 1']],
];

test.each(CASES)('%s %#', (code, body, figures) => {
  const violation = checkLocalReceipt(body, (spic) => GOODS.get(spic), 'unit').find((each) => each.code === code);
  if (violation === undefined) throw new Error(`${code} was not provoked`);
  const fault = faultOfViolation(violation);
  const shown = (['en', 'ru', 'uz'] as const).map((language) => {
    const [error] = problemDocument(Problem.fromErrors([fault]), 'req_1', language).errors;
    expect(error).toEqual({ pointer: fault.pointer, code, rule: LOCAL_RULES[code as 'E-003'], detail: error!.detail });
    return error!.detail;
  });
  expect(new Set(shown).size).toBe(3);
  expect(shown[1]).toMatch(/[а-я].*указано/);
  expect(shown[2]).toMatch(/berilgan/);
  for (const detail of shown) {
    for (const figure of figures) expect(detail).toContain(figure);
    expect(detail).not.toMatch(/undefined|null|NaN|\[object|\{\}|: [;)]/);
  }
});

test('every rule is in the table', () => {
  expect([...new Set(CASES.map(([code]) => code))].sort()).toEqual(Object.keys(LOCAL_RULES).sort());
});

test('without figures the rule alone, also for what only the register can know', () => {
  for (const code of Object.keys(LOCAL_RULES)) {
    const texts = [textOfProblem(code, 'ru'), textOfProblem(code, 'uz')];
    expect(texts).toEqual([expect.stringMatching(/^[^:]*[а-яА-Я]\.$/), expect.stringMatching(/^[^:]*[a-z]\.$/i)]);
  }
  const long = textOfProblem('E-013', 'ru', { given: 'x'.repeat(1_000), allowed: null });
  expect(long!.length).toBeLessThan(200);
});
