import { providerDocument, type FiscalLines, type LineForm, type ProviderDocument } from '../fiscal.js';
import { isObject, textAt, type WireObject } from '../wire.js';

/** An item has no field for a discount, and `tin` is all that it says of a seller. */
export const MULTICARD_LINE_FORM: LineForm = { fractions: false, discounts: false, commission: ['tin'] };

/**
 * `ofd` of an invoice and of a hold's charge: by it Multicard registers the receipt itself.
 * @param sellerTin for goods of the merchant's own; null: nothing is said
 */
export function multicardItems(lines: FiscalLines, sellerTin: string | null): WireObject[] {
  return lines.map((line) => {
    const tin = line.commission?.tin ?? sellerTin;
    return {
      name: line.name,
      qty: line.quantity / 1_000,
      price: line.priceTiyin,
      total: line.totalTiyin + line.discountTiyin,
      mxik: line.spic,
      package_code: line.packageCode,
      vat: line.vatPercent,
      ...(tin !== null && { tin }),
    };
  });
}

/** Deeper than any answer of Multicard's goes. */
const MAX_DEPTH = 4;

/**
 * The tax receipt of a payment: `{fm_num, f_num, qr_url, is_refund}`. Under which name it stands in the payment is nowhere
 * confirmed, so it is known by its own fields; a link that does not name it fully is none.
 */
export function multicardDocument(payment: WireObject, which: 'sale' | 'refund'): ProviderDocument | null {
  for (const receipt of taxReceiptsIn(payment, 0)) {
    if ((receipt['is_refund'] === true || receipt['is_refund'] === 1) !== (which === 'refund')) continue;
    // What names it beside the link, without its number and time, identifies no document.
    const document = providerDocument({ url: textAt(receipt, 'qr_url') });
    if (document) return document;
  }
  return null;
}

function taxReceiptsIn(value: unknown, depth: number): WireObject[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((item) => taxReceiptsIn(item, depth + 1));
  if (!isObject(value)) return [];
  if (textAt(value, 'qr_url') !== null) return [value];
  return Object.values(value).flatMap((item) => taxReceiptsIn(item, depth + 1));
}
