/** Whole tiyin (1 so'm = 100 tiyin); always a safe integer. Made with {@link tiyin}. */
export type Tiyin = number & { readonly __unit: 'tiyin' };

/** Largest sum that survives a JSON number. The wire's documented 9 999 999 999 999 999 does not. */
export const MAX_TIYIN = Number.MAX_SAFE_INTEGER;

/** @throws RangeError unless `n` is a safe integer. */
export function tiyin(n: number): Tiyin {
  if (!Number.isSafeInteger(n)) throw new RangeError(`Not a whole, safe number of tiyin: ${n}`);
  // -0 is a safe integer, but it would print as "-0" and differ under Object.is.
  return (n === 0 ? 0 : n) as Tiyin;
}

/**
 * numerator / denominator, rounded half up. Both are expected to be ≥ 0 (denominator > 0).
 * @throws RangeError for a negative numerator or a denominator ≤ 0: money rounding here knows only one direction.
 */
export function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  if (numerator < 0n || denominator <= 0n) throw new RangeError('divideHalfUp takes numerator ≥ 0 and denominator > 0');
  return (2n * numerator + denominator) / (2n * denominator);
}

export type SumResult = { kind: 'ok'; totalTiyin: Tiyin } | { kind: 'too_large' };

/** Sum through BigInt: adding safe integers as numbers may silently leave the safe range in between. */
export function sumTiyin(values: Iterable<Tiyin>): SumResult {
  let sum = 0n;
  for (const value of values) sum += BigInt(value);
  const beyond = sum > BigInt(MAX_TIYIN) || sum < -BigInt(MAX_TIYIN);
  return beyond ? { kind: 'too_large' } : { kind: 'ok', totalTiyin: tiyin(Number(sum)) };
}
