/**
 * The fields of POST /receipts that the register adds to the specification (docs/cash-register.md, "Extensions"). They become part
 * of the signed document, so a value that is not as it has to be is refused (S-003), never left out.
 */
import type { LocalTaxpayer } from './local-api.js';
import type { ShapeProblem } from './local-shape.js';
import { textProblem } from './text.js';
import * as wire from './wire-values.js';

const TIN = /^\d{9}$/;
const PINFL = /^\d{14}$/;
/** Characters of `paymentProvider`, as code points. */
export const MAX_PROVIDER_LENGTH = 64;

const TAXPAYER = 'must be {tin: 9 digits} or {pinfl: 14 digits}';

/** The first problem, or null. Never throws, whatever was parsed. */
export function extensionProblem(body: wire.WireObject): ShapeProblem | null {
  for (const [itemIndex, value] of (wire.asArray(body['items']) ?? []).entries()) {
    const item = wire.asObject(value) ?? {};
    if (wire.isAbsent(item['commission']) || readTaxpayer(item['commission']) !== null) continue;
    const name = item['name'];
    return {
      message: `item ${itemIndex + 1}: commission ${TAXPAYER}`,
      ...{ itemIndex, itemName: typeof name === 'string' ? name : null, field: 'commission' },
    };
  }
  const { customer } = body;
  if (!wire.isAbsent(customer) && readTaxpayer(customer) === null) return ofReceipt('customer', TAXPAYER);
  const message = providerProblem(body['paymentProvider']);
  return message === null ? null : ofReceipt('paymentProvider', message);
}

function ofReceipt(field: string, message: string): ShapeProblem {
  return { message: `${field} ${message}`, itemIndex: null, itemName: null, field };
}

function providerProblem(value: unknown): string | null {
  if (wire.isAbsent(value)) return null;
  if (typeof value !== 'string' || value.trim() === '' || [...value].length > MAX_PROVIDER_LENGTH) {
    return `must be a text of 1 to ${MAX_PROVIDER_LENGTH} characters`;
  }
  return textProblem(value) === null ? null : 'holds a character that cannot be stored or printed';
}

/** Null: neither number is there, or one has not its form. */
export function readTaxpayer(value: unknown): LocalTaxpayer | null {
  const given = wire.asObject(value);
  if (given === null) return null;
  const { tin, pinfl } = given;
  if (!isAbsentOr(TIN, tin) || !isAbsentOr(PINFL, pinfl)) return null;
  const read: LocalTaxpayer = { ...(typeof tin === 'string' && { tin }), ...(typeof pinfl === 'string' && { pinfl }) };
  return Object.keys(read).length > 0 ? read : null;
}

function isAbsentOr(pattern: RegExp, value: unknown): boolean {
  return wire.isAbsent(value) || (typeof value === 'string' && pattern.test(value));
}
