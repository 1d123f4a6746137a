/**
 * What makes a body of POST /receipts unusable without an E-code of its own: the register answers S-003, the gateway 422.
 * Sizes: the fiscal module's own limits (names are cut by the register, never refused).
 */
import { MAX_BARCODE_BYTES, MAX_CODE_BYTES, MAX_ITEMS, MAX_LABEL_BYTES, MAX_LABELS } from './legal-limits.js';
import { itemAmounts, isBeyondSafe, sumOfNets } from './local-amounts.js';
import { lineTotal } from './line.js';
import { labelProblem, textProblem, utf8Length } from './text.js';
import * as wire from './wire-values.js';

export interface ShapeProblem {
  message: string;
  /** 0-based; null for the receipt as a whole. */
  itemIndex: number | null;
  itemName: string | null;
  field: string;
}

interface FieldProblem {
  field: string;
  message: string;
}

/** The first problem, or null. Never throws, whatever was parsed. `items` that is no array, or empty, is E-006. */
export function localShapeProblem(body: unknown): ShapeProblem | null {
  const request = wire.asObject(body);
  if (request === null) return ofReceipt('', 'the body must be a JSON object');
  const values = wire.asArray(request['items']) ?? [];
  if (values.length > MAX_ITEMS) return ofReceipt('items', `a receipt has at most ${MAX_ITEMS} items`);
  const items: wire.WireObject[] = [];
  for (const [itemIndex, value] of values.entries()) {
    const item = wire.asObject(value);
    const problem = item === null ? { field: '', message: 'must be an object' } : itemProblem(item);
    if (problem !== null) {
      const name = item?.['name'];
      const message = `item ${itemIndex + 1}: ${problem.field === '' ? '' : `${problem.field} `}${problem.message}`;
      return { message, itemIndex, itemName: typeof name === 'string' ? name : null, field: problem.field };
    }
    if (item !== null) items.push(item);
  }
  return totalProblem(items) ?? refundProblem(request);
}

/** E-007 has asked for the form; a terminal of others and its sign are printed and sent on as they came. */
function refundProblem(request: wire.WireObject): ShapeProblem | null {
  const info = request['type'] === 'refund' ? wire.asObject(request['refundInfo']) : null;
  for (const field of ['terminalId', 'fiscalSign']) {
    const problem = textFieldProblem(`refundInfo.${field}`, info?.[field], MAX_CODE_BYTES);
    if (problem !== null) return ofReceipt(problem.field, `${problem.field} ${problem.message}`);
  }
  return null;
}

function ofReceipt(field: string, message: string): ShapeProblem {
  return { message, itemIndex: null, itemName: null, field };
}

function itemProblem(item: wire.WireObject): FieldProblem | null {
  return unitsProblem(item) ?? amountProblem(item) ?? discountProblem(item) ?? nameProblem(item) ?? codesProblem(item);
}

function unitsProblem(item: wire.WireObject): FieldProblem | null {
  const units = item['units'];
  return wire.isInteger(units) && units >= 0 ? null : { field: 'units', message: 'must be a whole number (OKEI code)' };
}

function amountProblem(item: wire.WireObject): FieldProblem | null {
  if (wire.asAmount(item['amount']) !== null) return null;
  return { field: 'amount', message: 'must be a whole number above 0 (quantity × 1000)' };
}

function discountProblem(item: wire.WireObject): FieldProblem | null {
  if (wire.asDiscount(item['discount']) === null) {
    return { field: 'discount', message: 'must be a whole number of tiyin, 0 or more' };
  }
  const amounts = itemAmounts(item);
  // Without a valid price there is no line to compare with: that is E-012.
  if (amounts === null) return null;
  const total = lineTotal(amounts);
  if (total.kind === 'negative') return { field: 'discount', message: 'must not be larger than the line' };
  if (total.kind === 'too_large') return { field: 'price', message: 'times amount is beyond 9007199254740991 tiyin' };
  return null;
}

/** Only what cannot be stored or printed: a missing or empty name is E-011, a long one is cut. */
function nameProblem(item: wire.WireObject): FieldProblem | null {
  const name = item['name'];
  if (typeof name !== 'string' || !isUnstorable(textProblem(name))) return null;
  return { field: 'name', message: 'holds NUL or half a character' };
}

function codesProblem(item: wire.WireObject): FieldProblem | null {
  return (
    textFieldProblem('barcode', item['barcode'], MAX_BARCODE_BYTES) ??
    textFieldProblem('packageCode', item['packageCode'], MAX_CODE_BYTES) ??
    labelsProblem(item)
  );
}

function labelsProblem(item: wire.WireObject): FieldProblem | null {
  const single = textFieldProblem('label', item['label'], MAX_LABEL_BYTES);
  if (single !== null || wire.isAbsent(item['labels'])) return single;
  const labels = wire.asArray(item['labels']);
  if (labels === null) return { field: 'labels', message: 'must be an array of texts' };
  if (labels.length > MAX_LABELS) return { field: 'labels', message: `has at most ${MAX_LABELS} codes` };
  for (const label of labels) {
    if (typeof label !== 'string') return { field: 'labels', message: 'must be an array of texts' };
    const problem = textFieldProblem('labels', label, MAX_LABEL_BYTES);
    if (problem !== null) return problem;
  }
  return null;
}

function textFieldProblem(field: string, value: unknown, maxBytes: number): FieldProblem | null {
  if (wire.isAbsent(value)) return null;
  if (typeof value !== 'string') return { field, message: 'must be a text' };
  if (isUnstorable(labelProblem(value))) return { field, message: 'holds NUL or half a character' };
  return utf8Length(value) > maxBytes ? { field, message: `is longer than ${maxBytes} bytes` } : null;
}

function isUnstorable(problem: ReturnType<typeof textProblem>): boolean {
  return problem === 'nul' || problem === 'lone_surrogate';
}

function totalProblem(items: readonly wire.WireObject[]): ShapeProblem | null {
  const total = sumOfNets(items);
  if (total === null || items.length === 0) return null;
  if (isBeyondSafe(total)) return ofReceipt('items', 'the total is beyond 9007199254740991 tiyin');
  // Fiscal modules refuse a receipt over nothing; a single line may be free.
  return total === 0n ? ofReceipt('items', 'the total must be above 0') : null;
}
