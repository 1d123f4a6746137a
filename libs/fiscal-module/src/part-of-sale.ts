import { divideHalfUp } from '#fiscal-domain';
import type { FiscalDocument, FiscalItem } from './fiscal-module.js';
import type { OfdDocument } from './ofd-document.js';

/** What is known of some goods of a sale. */
interface Goods {
  readonly soldTiyin: number;
  readonly soldVatTiyin: number;
  backTiyin: number;
  backVatTiyin: number;
}

/**
 * A refund as a part of its sale. The VAT of each part by itself rounds once too often: ten parts of one line can hold a few tiyin
 * more VAT than the line, and the last one would be refused for them. Such a part has the VAT of all that came back with it less
 * that of what came back before. What is more than was sold, or was not sold there, keeps the VAT of its own net: whether it may
 * come back is not said here.
 * @param earlier the refunds of this sale that were registered
 */
export function partOfSale(refund: FiscalDocument, sale: OfdDocument, earlier: readonly OfdDocument[]): FiscalDocument {
  const known = new Map<string, Goods>();
  for (const item of sale.items) {
    const sold = known.get(keyOf(item));
    const soldTiyin = (sold?.soldTiyin ?? 0) + item.total;
    const soldVatTiyin = (sold?.soldVatTiyin ?? 0) + item.vat;
    known.set(keyOf(item), { soldTiyin, soldVatTiyin, backTiyin: 0, backVatTiyin: 0 });
  }
  for (const item of earlier.flatMap(({ items }) => items)) takeBack(known.get(keyOf(item)), item);
  const items = refund.items.map((item) => {
    const goods = known.get(keyOf(item));
    const part = { ...item, vat: vatOfPart(goods, item) };
    takeBack(goods, part);
    return part;
  });
  return { ...refund, items, vatTiyin: items.reduce((sum, { vat }) => sum + vat, 0) };
}

/** Not the price and the discount: they say a part's total, whatever was sold (to-local-receipt.ts). */
function keyOf({ spic, name, barcode, package_code: packageCode, units, vat_percent: percent }: FiscalItem): string {
  return JSON.stringify([spic, name, barcode, packageCode, units, percent]);
}

function takeBack(goods: Goods | undefined, { total, vat }: FiscalItem): void {
  if (!goods) return;
  goods.backTiyin += total;
  goods.backVatTiyin += vat;
}

function vatOfPart(goods: Goods | undefined, { total, vat }: FiscalItem): number {
  const backTiyin = (goods?.backTiyin ?? 0) + total;
  if (!goods || goods.soldTiyin === 0 || backTiyin > goods.soldTiyin) return vat;
  const share = divideHalfUp(BigInt(goods.soldVatTiyin) * BigInt(backTiyin), BigInt(goods.soldTiyin));
  // Behind what came back before, which was rounded part by part.
  return Math.max(Number(share) - goods.backVatTiyin, 0);
}
