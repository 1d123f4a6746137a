/** Quantity × 1000 (2 pieces = 2000, 0.5 kg = 500), the unit of the local API's `amount`; a safe integer > 0. */
export type Thousandths = number & { readonly __unit: 'thousandths' };

export type QuantityResult =
  | { kind: 'ok'; thousandths: Thousandths }
  | { kind: 'invalid'; reason: 'not_a_number' | 'not_positive' | 'too_many_decimals' | 'too_large' | 'too_precise' };

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;
/** Longer texts cannot be a safe number of thousandths, and would only cost BigInt work. */
const MAX_TEXT_LENGTH = 40;
/** From here on a double is further from the next one than 0.001: two quantities that were written apart would be one. */
const COARSE_FROM = 2 ** 43;

/** @throws RangeError unless `n` is a safe integer > 0. */
export function thousandths(n: number): Thousandths {
  if (!Number.isSafeInteger(n) || n <= 0) throw new RangeError(`Not a positive whole number of thousandths: ${n}`);
  return n as Thousandths;
}

/**
 * Reads a quantity as decimal text, never through float arithmetic: 1.005 is 1005 thousandths.
 * A number goes through its shortest decimal text, while that says what was written; exponent forms are refused. At most 3 decimals, as written ("1.0000" has four).
 */
export function parseQuantity(value: number | string): QuantityResult {
  if (typeof value === 'number') return parseNumber(value);
  if (typeof value !== 'string') return invalid('not_a_number');
  return parseText(value);
}

function parseNumber(value: number): QuantityResult {
  if (!Number.isFinite(value)) return invalid('not_a_number');
  if (value <= 0) return invalid('not_positive');
  // String(n) turns to exponent form from 1e21 upwards and below 1e-6: say which border was crossed.
  if (value >= 1e21) return invalid('too_large');
  if (value < 1e-6) return invalid('too_many_decimals');
  if (value >= COARSE_FROM && !Number.isInteger(value)) return invalid('too_precise');
  return parseText(String(value));
}

function parseText(text: string): QuantityResult {
  const match = DECIMAL.exec(text);
  if (!match) return invalid('not_a_number');
  const [, sign = '', whole = '', decimals = ''] = match;
  if (sign === '-' || /^0*$/.test(whole + decimals)) return invalid('not_positive');
  if (decimals.length > 3) return invalid('too_many_decimals');
  if (text.length > MAX_TEXT_LENGTH) return invalid('too_large');
  const parsed = BigInt(whole + decimals.padEnd(3, '0'));
  if (parsed > BigInt(Number.MAX_SAFE_INTEGER)) return invalid('too_large');
  return { kind: 'ok', thousandths: thousandths(Number(parsed)) };
}

function invalid(reason: Extract<QuantityResult, { kind: 'invalid' }>['reason']): QuantityResult {
  return { kind: 'invalid', reason };
}

/** Shortest decimal text: 1005 → "1.005", 2000 → "2". */
export function formatQuantity(quantity: Thousandths): string {
  const digits = String(quantity).padStart(4, '0');
  const decimals = digits.slice(-3).replace(/(?<!0)0+$/, '');
  const whole = digits.slice(0, -3);
  return decimals === '' ? whole : `${whole}.${decimals}`;
}
