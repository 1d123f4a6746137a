import type { FiscalDocument, FiscalItem } from './fiscal-module.js';

interface Goods {
  readonly items: readonly FiscalItem[];
}

/**
 * Whether a refund takes back no more of any of its goods than its sale had of them and earlier refunds have left.
 * @param earlier the refunds of this sale that were registered
 */
export function isPartOfSale(refund: Goods, sale: Goods, earlier: readonly Goods[]): boolean {
  const leftTiyin = new Map<string, number>();
  const add = (items: readonly FiscalItem[], sign: 1 | -1): void => {
    for (const item of items) leftTiyin.set(keyOf(item), (leftTiyin.get(keyOf(item)) ?? 0) + sign * item.total);
  };
  add(sale.items, 1);
  for (const { items } of earlier) add(items, -1);
  add(refund.items, -1);
  return refund.items.every((item) => (leftTiyin.get(keyOf(item)) ?? -1) >= 0);
}

/** The same document with no more VAT than this; what is more is taken off its lines, from the first on. */
export function withVatUpTo(document: FiscalDocument, mostTiyin: number): FiscalDocument {
  let excessTiyin = Math.max(document.vatTiyin - mostTiyin, 0);
  const items = document.items.map((item) => {
    const cutTiyin = Math.min(item.vat, excessTiyin);
    excessTiyin -= cutTiyin;
    return { ...item, vat: item.vat - cutTiyin };
  });
  return { ...document, items, vatTiyin: items.reduce((sum, { vat }) => sum + vat, 0) };
}

/** Not the price and the discount: they say a part's total, whatever was sold (to-local-receipt.ts). */
function keyOf({ spic, name, barcode, package_code: packageCode, units, vat_percent: percent }: FiscalItem): string {
  return JSON.stringify([spic, name, barcode, packageCode, units, percent]);
}
