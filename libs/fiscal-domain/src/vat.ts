import { lineGross, lineTotal, type LineAmounts } from './line.js';
import { divideHalfUp, MAX_TIYIN, tiyin, type Tiyin } from './money.js';

/** The VAT percents that the local API knows. */
export const VAT_PERCENTS = [0, 12] as const;
export type VatPercent = (typeof VAT_PERCENTS)[number];

/**
 * What a register takes as the base of an item's `vat` (E-016): one unit's price (the letter of the specification),
 * price × quantity, or the line less its discount. All three agree for one piece without discount.
 */
export type VatRule = 'unit' | 'line' | 'line-net';
export const VAT_RULES: readonly VatRule[] = ['unit', 'line', 'line-net'];

/**
 * VAT contained in a sum: half-up(net × percent / (100 + percent)).
 * @throws RangeError unless both are safe integers ≥ 0.
 */
export function vatContained(netTiyin: number, percent: number): Tiyin {
  const rate = BigInt(tiyin(percent));
  return tiyin(Number(divideHalfUp(BigInt(tiyin(netTiyin)) * rate, 100n + rate)));
}

/**
 * The `vat` that a register with this rule expects for an item on the wire. Only for the wire: totals, Z-reports and the
 * printed receipt always use the VAT of the line's net.
 * @throws RangeError when the line has no valid total (discount above the line, or beyond 2^53): check with lineTotal first.
 */
export function wireVat(rule: VatRule, line: LineAmounts & { vatPercent: VatPercent }): Tiyin {
  return vatContained(wireVatBase(rule, line), line.vatPercent);
}

function wireVatBase(rule: VatRule, line: LineAmounts): number {
  if (rule === 'unit') return line.priceTiyin;
  if (rule === 'line') {
    const gross = lineGross(line.priceTiyin, line.quantity);
    if (gross > BigInt(MAX_TIYIN)) throw new RangeError('The line is beyond 2^53 tiyin');
    return Number(gross);
  }
  const net = lineTotal(line);
  if (net.kind !== 'ok') throw new RangeError(`The line has no valid total: ${net.kind}`);
  return net.totalTiyin;
}
