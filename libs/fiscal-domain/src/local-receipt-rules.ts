/**
 * The E-rules of POST /receipts, one place for the register (which enforces them) and the gateway (which refuses early).
 * Sources: specification, "Item", "Received" and "Errors"; where it is silent, the documented decisions at each rule.
 * The body is unchecked parsed JSON: a value of the wrong type gets the code of its field, nothing here throws.
 */
import { MAX_ITEMS } from './legal-limits.js';
import { LOCAL_RULES, type LocalErrorCode, type LocalRuleCode } from './local-api.js';
import { itemAmounts, sumOfNets } from './local-amounts.js';
import { lineTotal } from './line.js';
import { tiyin, type Tiyin } from './money.js';
import { RECEIPT_TYPES } from './receipt.js';
import { printedName, truncateUtf8 } from './text.js';
import { vatContained, VAT_PERCENTS, wireVat, type VatPercent, type VatRule } from './vat.js';
import * as wire from './wire-values.js';

/** What the classification register says about goods. */
export interface GoodsEntry {
  packages: readonly string[];
  /** Needs a marking code per piece. */
  marked: boolean;
  /** false is the specification's `cashSale` 0. */
  cashAllowed: boolean;
  active: boolean;
}

/** undefined: the code is not in the register. */
export type GoodsLookup = (spic: string) => GoodsEntry | undefined;

export interface RuleViolation {
  code: LocalErrorCode;
  rule: string;
  message: string;
  /** 0-based; null for the receipt as a whole. */
  itemIndex: number | null;
  itemName: string | null;
  /** Name of the item's field (`price`), or the path in the body (`received.cash`) when it is not an item's. */
  field: string;
  value: unknown;
  facts: RuleFacts;
}

/** The figures of a violation, for a sentence about it in any language; quantities in pieces, not in thousandths. */
export interface RuleFacts {
  given: unknown;
  /** What would have been right, as figures and codes alone; null where no list or bound says it. */
  allowed: string | null;
  /** Which of the rule's sentences; null for the usual one. */
  reason: 'inactive' | null;
}

/** What a rule has to say beside its code and field. */
interface Finding extends Partial<RuleFacts> {
  message: string;
}

/** E-016: how far `vat` may be from the computed (half-up) value. */
export const VAT_TOLERANCE_TIYIN = 100;
/** E-009: how far the paid sum may exceed the total. */
export const PAID_TOLERANCE_TIYIN = 100;
/** E-018: one piece. */
export const MIN_MARKED_AMOUNT = 1000;

/** One item with what the rules need to know around it. */
interface CheckedItem {
  item: wire.WireObject;
  index: number;
  name: string | null;
  goods: GoodsEntry | undefined;
  vatRule: VatRule;
  /** What was sold can be taken back as it was sold, whatever the classification register has made of the goods since. */
  isRefund: boolean;
}

type ItemRule = (checked: CheckedItem) => RuleViolation | null;

/** In the documented order, in which the violations of an item are listed. */
const ITEM_RULES: readonly ItemRule[] = [
  checkName,
  checkPrice,
  checkSpic,
  checkPackage,
  checkVatPercent,
  checkVat,
  checkLabelPresent,
  checkMarkedAmount,
  checkLabelCount,
];

/**
 * All violations in a fixed order: the receipt (E-005, E-006, E-007), the items in order (E-011 … E-016, E-004, E-018, E-017),
 * the payment (E-008, E-009, E-003, E-010). Empty: the register may register it, if localShapeProblem agrees. Of more items than a
 * receipt may have none is checked, as there may be half a million: localShapeProblem refuses them.
 * @param request a LocalReceiptRequest, or parsed JSON that claims to be one
 */
export function checkLocalReceipt(request: unknown, goods: GoodsLookup, vatRule: VatRule): RuleViolation[] {
  const body = wire.asObject(request) ?? {};
  const values = wire.asArray(body['items']) ?? [];
  if (values.length > MAX_ITEMS) return checkReceipt(body);
  const items = values.map((value, index): CheckedItem => {
    const item = wire.asObject(value) ?? {};
    return {
      item,
      index,
      name: typeof item['name'] === 'string' ? truncateUtf8(item['name'], 63) : null,
      goods: typeof item['spic'] === 'string' ? goods(item['spic']) : undefined,
      vatRule,
      isRefund: body['type'] === 'refund',
    };
  });
  return [
    ...checkReceipt(body),
    ...items.flatMap((checked) => ITEM_RULES.map((rule) => rule(checked)).filter((violation) => violation !== null)),
    ...checkPayment(body, items),
  ];
}

function checkReceipt(body: wire.WireObject): RuleViolation[] {
  const violations: RuleViolation[] = [];
  const types: readonly unknown[] = RECEIPT_TYPES;
  if (!types.includes(body['type'])) {
    const allowed = RECEIPT_TYPES.join(', ');
    violations.push(ofReceipt('E-005', 'type', body['type'], { message: `type must be one of ${allowed}`, allowed }));
  }
  if ((wire.asArray(body['items']) ?? []).length === 0) {
    const finding = { message: 'a receipt needs at least one item', given: 0, allowed: '≥ 1' };
    violations.push(ofReceipt('E-006', 'items', body['items'], finding));
  }
  if (body['type'] === 'refund') violations.push(...checkRefundInfo(body['refundInfo']));
  return violations;
}

const REFUND_INFO_FIELDS = 'terminalId, receiptSeq, dateTime, fiscalSign';

/** A refundInfo of the wrong format would be taken by some modules, but leaves the refund unlinked at the tax office. */
function checkRefundInfo(value: unknown): RuleViolation[] {
  const info = wire.asObject(value);
  if (info === null) {
    const finding = { message: 'a refund needs refundInfo of the sale', allowed: REFUND_INFO_FIELDS };
    return [ofReceipt('E-007', 'refundInfo', value, finding)];
  }
  const wrong = (field: string, message: string, allowed: string): RuleViolation =>
    ofReceipt('E-007', `refundInfo.${field}`, info[field], {
      message: `refundInfo.${field} ${message}`,
      allowed: `${field}: ${allowed}`,
    });
  const seq = info['receiptSeq'];
  const time = info['dateTime'];
  const violations: RuleViolation[] = [];
  if (!wire.isFilledText(info['terminalId']))
    violations.push(wrong('terminalId', 'must name the terminal of the sale', '"…"'));
  if (!wire.isInteger(seq) || seq <= 0) violations.push(wrong('receiptSeq', 'must be a whole number above 0', '> 0'));
  if (typeof time !== 'string' || !/^\d{8}T\d{6}$/.test(time)) {
    violations.push(wrong('dateTime', 'must have the form YYYYMMDDTHHmmss', 'YYYYMMDDTHHmmss'));
  }
  if (!wire.isFilledText(info['fiscalSign']))
    violations.push(wrong('fiscalSign', 'must be the fiscal sign of the sale', '"…"'));
  return violations;
}

/** A name of control characters alone is empty in the document. */
function checkName(checked: CheckedItem): RuleViolation | null {
  const name = checked.item['name'];
  return typeof name === 'string' && printedName(name) !== ''
    ? null
    : ofItem(checked, 'E-011', 'name', { message: 'name must not be empty', allowed: '≥ 1' });
}

function checkPrice(checked: CheckedItem): RuleViolation | null {
  const valid = wire.asPrice(checked.item['price']) !== null;
  if (valid) return null;
  return ofItem(checked, 'E-012', 'price', {
    message: 'price must be a whole number of tiyin above 0',
    allowed: '> 0',
  });
}

function checkSpic(checked: CheckedItem): RuleViolation | null {
  if (checked.goods === undefined) {
    return ofItem(checked, 'E-013', 'spic', { message: 'spic is not in the classification register' });
  }
  if (checked.goods.active || checked.isRefund) return null;
  const message = 'spic is no longer in force in the classification register';
  return ofItem(checked, 'E-013', 'spic', { message, reason: 'inactive' });
}

/** Optional by the specification; without a known spic there is no list to compare with, E-013 says so already. */
function checkPackage(checked: CheckedItem): RuleViolation | null {
  const code = checked.item['packageCode'];
  if (wire.isAbsent(code)) return null;
  if (typeof code === 'string' && (checked.isRefund || (checked.goods?.packages.includes(code) ?? true))) return null;
  const allowed = checked.goods === undefined ? null : listed(checked.goods.packages);
  const message = 'packageCode is not among the packages of this spic';
  return ofItem(checked, 'E-014', 'packageCode', { message, allowed });
}

/** A code may have dozens of packages: a caller with a wrong one sees enough of them to find the right one. */
function listed(codes: readonly string[]): string {
  return codes.slice(0, 10).join(', ') + (codes.length > 10 ? ', …' : '');
}

function asVatPercent(value: unknown): VatPercent | null {
  return VAT_PERCENTS.find((percent) => percent === value) ?? null;
}

function checkVatPercent(checked: CheckedItem): RuleViolation | null {
  const valid = asVatPercent(checked.item['vatPercent']) !== null;
  if (valid) return null;
  return ofItem(checked, 'E-015', 'vatPercent', { message: 'vatPercent must be 0 or 12', allowed: '0, 12' });
}

/** Where the expected value cannot be computed, the field that is to blame has its own violation. */
function checkVat(checked: CheckedItem): RuleViolation | null {
  const vat = checked.item['vat'];
  if (!wire.isInteger(vat)) {
    return ofItem(checked, 'E-016', 'vat', { message: 'vat must be a whole number of tiyin', allowed: '≥ 0' });
  }
  const expectedTiyin = expectedVat(checked);
  if (expectedTiyin === null || Math.abs(vat - expectedTiyin) <= VAT_TOLERANCE_TIYIN) return null;
  const message = `vat must be ${expectedTiyin} within ${VAT_TOLERANCE_TIYIN} tiyin`;
  return ofItem(checked, 'E-016', 'vat', { message, allowed: `${expectedTiyin} ± ${VAT_TOLERANCE_TIYIN}` });
}

function expectedVat({ item, vatRule }: CheckedItem): Tiyin | null {
  const vatPercent = asVatPercent(item['vatPercent']);
  const priceTiyin = wire.asPrice(item['price']);
  if (vatPercent === null || priceTiyin === null) return null;
  // By the letter of the specification only the price counts: a bad amount must not hide a bad vat.
  if (vatRule === 'unit') return vatContained(priceTiyin, vatPercent);
  const amounts = itemAmounts(item);
  if (amounts === null) return null;
  const base = vatRule === 'line' ? { ...amounts, discountTiyin: tiyin(0) } : amounts;
  return lineTotal(base).kind === 'ok' ? wireVat(vatRule, { ...base, vatPercent }) : null;
}

function checkLabelPresent(checked: CheckedItem): RuleViolation | null {
  if (!checked.goods?.marked || checked.isRefund || wire.itemLabels(checked.item).length > 0) return null;
  return ofItem(checked, 'E-004', 'labels', { message: 'marked goods need a label', given: 0, allowed: '≥ 1' });
}

function checkMarkedAmount(checked: CheckedItem): RuleViolation | null {
  const amount = checked.item['amount'];
  // What comes back without a label was not marked when they were sold.
  if (checked.isRefund && wire.itemLabels(checked.item).length === 0) return null;
  if (!checked.goods?.marked || (typeof amount === 'number' && amount >= MIN_MARKED_AMOUNT)) return null;
  const message = `amount of marked goods must be at least ${MIN_MARKED_AMOUNT}`;
  return ofItem(checked, 'E-018', 'amount', { message, given: pieces(amount), allowed: '≥ 1' });
}

/** What an `amount` means; what is none stays as it is. */
function pieces(amount: unknown): unknown {
  return typeof amount === 'number' ? amount / 1000 : amount;
}

/** For marked goods a single `label` counts as one code; elsewhere only a list that was given is counted. */
function checkLabelCount(checked: CheckedItem): RuleViolation | null {
  const listed = wire.asArray(checked.item['labels']) ?? [];
  const labels = wire.itemLabels(checked.item);
  if (labels.length === 0 || (!checked.goods?.marked && listed.length === 0)) return null;
  // Among codes an empty text stands for a piece whose code is missing: it is counted, and it is no code.
  const texts = listed.some(wire.isFilledText) ? listed.filter((label) => typeof label === 'string') : labels;
  const wrong = [texts.length, labels.length].find((count) => count * 1000 !== checked.item['amount']);
  if (wrong === undefined) return null;
  const message = `number of labels (${wrong}) must equal amount / 1000`;
  const expected = pieces(checked.item['amount']);
  const allowed = typeof expected === 'number' ? String(expected) : null;
  return ofItem(checked, 'E-017', 'labels', { message, given: wrong, allowed });
}

function checkPayment(body: wire.WireObject, items: readonly CheckedItem[]): RuleViolation[] {
  const received = wire.asObject(body['received']);
  if (received === null) {
    const finding = { message: 'received must say what was paid', allowed: '≥ 0' };
    const missing = ofReceipt('E-008', 'received', body['received'], finding);
    return [missing, ...checkTotalVat(body, items)];
  }
  const cash = received['cash'] ?? 0;
  return [
    ...checkPaidSums(received),
    ...checkPaidAgainstTotal(received, items),
    ...(wire.isInteger(cash) && cash !== 0 ? checkCashAllowed(body, received, items) : []),
    ...checkTotalVat(body, items),
  ];
}

/** A negative part is refused even when the other one outweighs it: no module can add it to its sums. */
function checkPaidSums(received: wire.WireObject): RuleViolation[] {
  return ['cash', 'card'].flatMap((part) => {
    const value = received[part] ?? 0;
    if (wire.isInteger(value) && value >= 0) return [];
    const message = `received.${part} must be a whole number of tiyin, 0 or more`;
    return [ofReceipt('E-008', `received.${part}`, received[part], { message, allowed: '≥ 0' })];
  });
}

function checkPaidAgainstTotal(received: wire.WireObject, items: readonly CheckedItem[]): RuleViolation[] {
  const cash = received['cash'] ?? 0;
  const card = received['card'] ?? 0;
  const total = sumOfNets(items.map(({ item }) => item));
  // An item without a net has its own violation; against an unknown total nothing can be checked.
  if (!wire.isInteger(cash) || !wire.isInteger(card) || items.length === 0 || total === null) return [];
  const paid = BigInt(cash) + BigInt(card);
  if (paid <= total + BigInt(PAID_TOLERANCE_TIYIN)) return [];
  const message = `paid ${paid} exceeds the total ${total} by more than ${PAID_TOLERANCE_TIYIN} tiyin`;
  const allowed = `≤ ${total + BigInt(PAID_TOLERANCE_TIYIN)}`;
  return [ofReceipt('E-009', 'received', { cash, card }, { message, given: paid, allowed })];
}

/**
 * Goods that may not be sold for cash: by the classification register, or by a `cashSale: 0` anywhere in the payload (the
 * specification leaves its place open). One violation per item, one for the receipt. Only called when cash is not 0.
 */
function checkCashAllowed(
  body: wire.WireObject,
  received: wire.WireObject,
  items: readonly CheckedItem[],
): RuleViolation[] {
  const violations: RuleViolation[] = [];
  if (isZero(body['cashSale']) || isZero(received['cashSale'])) {
    const finding = { message: 'cash must be 0: cashSale is 0', allowed: '0' };
    violations.push(ofReceipt('E-003', 'received.cash', received['cash'], finding));
  }
  for (const { item, goods, index, name, isRefund } of items) {
    const isBarred = goods?.cashAllowed === false && !isRefund;
    if (!isBarred && !isZero(item['cashSale'])) continue;
    const message = `item ${index + 1}: cash must be 0, these goods may not be sold for cash`;
    violations.push({
      ...ofReceipt('E-003', 'received.cash', received['cash'], { message, allowed: '0' }),
      itemIndex: index,
      itemName: name,
    });
  }
  return violations;
}

function isZero(value: unknown): boolean {
  return value === 0 || value === '0' || value === false;
}

function checkTotalVat(body: wire.WireObject, items: readonly CheckedItem[]): RuleViolation[] {
  const totalVat = body['totalVAT'];
  if (wire.isAbsent(totalVat)) return [];
  let sum = 0n;
  for (const { item } of items) {
    // E-016 has named it; a sum without it would only blame the wrong field.
    if (!wire.isInteger(item['vat'])) return [];
    sum += BigInt(item['vat']);
  }
  if (wire.isInteger(totalVat) && BigInt(totalVat) === sum) return [];
  const message = `totalVAT must be ${sum}, the sum of the items' vat`;
  return [ofReceipt('E-010', 'totalVAT', totalVat, { message, allowed: String(sum) })];
}

function ofReceipt(code: LocalRuleCode, field: string, value: unknown, finding: Finding): RuleViolation {
  const { message } = finding;
  const facts = factsOf(finding, value);
  return { code, rule: LOCAL_RULES[code], message, itemIndex: null, itemName: null, field, value, facts };
}

function ofItem(checked: CheckedItem, code: LocalRuleCode, field: string, finding: Finding): RuleViolation {
  const value = checked.item[field];
  return {
    code,
    rule: LOCAL_RULES[code],
    message: `item ${checked.index + 1}: ${finding.message}`,
    itemIndex: checked.index,
    itemName: checked.name,
    field,
    value,
    facts: factsOf(finding, value),
  };
}

function factsOf({ given, allowed = null, reason = null }: Finding, value: unknown): RuleFacts {
  return { given: given ?? value, allowed, reason };
}
