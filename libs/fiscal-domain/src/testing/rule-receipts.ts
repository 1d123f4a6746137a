import { checkLocalReceipt, type GoodsEntry, type GoodsLookup, type RuleViolation } from '../local-receipt-rules.js';
import type { VatRule } from '../vat.js';

export const BREAD = '01905001001000000';
export const WATER = '02202001001000001';
export const CARD_ONLY = '08703001001000002';
export const OLD = '00000000000000003';

const plain: GoodsEntry = { packages: ['1000', '1001'], marked: false, cashAllowed: true, active: true };
export const GOODS = new Map<string, GoodsEntry>([
  [BREAD, plain],
  [WATER, { ...plain, marked: true }],
  [CARD_ONLY, { ...plain, cashAllowed: false }],
  [OLD, { ...plain, active: false }],
]);
const goods: GoodsLookup = (spic) => GOODS.get(spic);

export type Fields = Record<string, unknown>;

export const item = (more: Fields = {}): Fields => ({
  name: 'Bread',
  spic: BREAD,
  units: 796,
  price: 2_000_000,
  amount: 1000,
  vatPercent: 12,
  vat: 214_286,
  packageCode: '1000',
  ...more,
});
export const marked = (more: Fields = {}): Fields => item({ spic: WATER, label: 'L1', ...more });
export const receipt = (more: Fields = {}): Fields => ({
  type: 'sale',
  items: [item()],
  received: { cash: 0, card: 2_000_000 },
  ...more,
});
export const ofItem = (more: Fields): Fields => receipt({ items: [item(more)] });
export const refundInfo = {
  terminalId: 'ZZ000000000001',
  receiptSeq: 7,
  dateTime: '20261120T111200',
  fiscalSign: '123456789012',
};

/** Of a body that claims to be one, each violation. */
export const check = (body: unknown, rule: VatRule = 'unit'): RuleViolation[] => checkLocalReceipt(body, goods, rule);
export const codes = (body: unknown, rule: VatRule = 'unit'): string[] =>
  check(body, rule).map((violation) => violation.code);
export const codesAt = (body: unknown, rule: VatRule = 'unit'): string[] =>
  check(body, rule).map(({ code, itemIndex, field }) => `${code} ${itemIndex ?? '-'} ${field}`);
