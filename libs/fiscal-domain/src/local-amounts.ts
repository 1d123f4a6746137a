import type { LocalReceiptRequest } from './local-api.js';
import { lineTotal, type LineAmounts } from './line.js';
import { MAX_TIYIN, type Tiyin } from './money.js';
import { resolvedTotals, type ReceiptTotals } from './receipt.js';
import { vatContained } from './vat.js';
import { asAmount, asDiscount, asPrice, type WireObject } from './wire-values.js';

/** An item's price, quantity and discount; null when one of them is not usable. */
export function itemAmounts(item: WireObject): LineAmounts | null {
  const priceTiyin = asPrice(item['price']);
  const quantity = asAmount(item['amount']);
  const discountTiyin = asDiscount(item['discount']);
  if (priceTiyin === null || quantity === null || discountTiyin === null) return null;
  return { priceTiyin, quantity, discountTiyin };
}

/** Sum of the items' nets as BigInt (it may lie beyond 2^53); null when one of them has no net. */
export function sumOfNets(items: readonly WireObject[]): bigint | null {
  let sum = 0n;
  for (const item of items) {
    const amounts = itemAmounts(item);
    const net = amounts === null ? null : lineTotal(amounts);
    if (net?.kind !== 'ok') return null;
    sum += BigInt(net.totalTiyin);
  }
  return sum;
}

export function isBeyondSafe(sum: bigint): boolean {
  return sum > BigInt(MAX_TIYIN);
}

export interface LocalReceiptTotals extends ReceiptTotals {
  /** One per item, in order: the net, and the VAT of the net, whatever `vat` on the wire says. */
  lines: { totalTiyin: Tiyin; vatTiyin: Tiyin }[];
}

/**
 * The sums that journal, Z-report, accumulated totals and the printed receipt take from a receipt.
 * @throws RangeError for a receipt that {@link localShapeProblem} or E-012 refuses: check first.
 */
export function localReceiptTotals(request: LocalReceiptRequest): LocalReceiptTotals {
  const lines = request.items.map((item) => {
    const amounts = itemAmounts({ ...item });
    const net = amounts === null ? null : lineTotal(amounts);
    if (net?.kind !== 'ok') throw new RangeError('An item has no valid total');
    return { totalTiyin: net.totalTiyin, vatTiyin: vatContained(net.totalTiyin, item.vatPercent) };
  });
  return { lines, ...resolvedTotals(lines) };
}
