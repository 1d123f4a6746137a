import { divideHalfUp, MAX_TIYIN, tiyin, type Tiyin } from './money.js';
import type { Thousandths } from './quantity.js';

export interface LineAmounts {
  /** Price per unit, VAT included. */
  priceTiyin: Tiyin;
  quantity: Thousandths;
  discountTiyin: Tiyin;
}

/** `negative`: the discount is larger than the line. `too_large`: price × quantity leaves the safe integers. */
export type LineTotal = { kind: 'ok'; totalTiyin: Tiyin } | { kind: 'negative' } | { kind: 'too_large' };

/** half-up(price × quantity / 1000), before any discount; a product beyond 2^53 is why this is BigInt. */
export function lineGross(priceTiyin: Tiyin, quantity: Thousandths): bigint {
  return divideHalfUp(BigInt(priceTiyin) * BigInt(quantity), 1000n);
}

/** A line's total (its net): half-up(price × quantity / 1000) − discount; may be zero, never negative. */
export function lineTotal(line: LineAmounts): LineTotal {
  const gross = lineGross(line.priceTiyin, line.quantity);
  if (gross > BigInt(MAX_TIYIN)) return { kind: 'too_large' };
  const net = gross - BigInt(line.discountTiyin);
  if (net < 0n) return { kind: 'negative' };
  if (net > BigInt(MAX_TIYIN)) return { kind: 'too_large' };
  return { kind: 'ok', totalTiyin: tiyin(Number(net)) };
}
