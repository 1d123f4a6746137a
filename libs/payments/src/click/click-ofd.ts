import { truncateText } from '#fiscal-domain';
import type { FiscalLines, LineForm } from '../fiscal.js';
import type { WireObject } from '../wire.js';

const MAX_NAME = 63;
const THOUSAND = 1_000;

/** In which scale `Amount` counts is nowhere confirmed: ones, as one integrator saw it, or thousandths, as the OFD does. */
export type ClickAmountScale = 1 | 1_000;

/** In ones only whole quantities can be said. */
export function clickLineForm(scale: ClickAmountScale): LineForm {
  return { fractions: scale === THOUSAND, discounts: true, commission: ['tin', 'pinfl'] };
}

/**
 * `items` of ofd_data/submit_items: tiyin, `Price` is the line before its discount.
 * @param options.sellerTin for goods of the merchant's own; null: the lines have to name it
 */
export function clickItems(
  lines: FiscalLines,
  { sellerTin, scale }: { sellerTin: string | null; scale: ClickAmountScale },
): WireObject[] {
  return lines.map((line) => ({
    Name: truncateText(line.name, MAX_NAME),
    ...(line.barcode !== null && { Barcode: line.barcode.slice(0, 13) }),
    SPIC: line.spic,
    Units: line.units,
    PackageCode: line.packageCode,
    GoodPrice: line.priceTiyin,
    Price: line.totalTiyin + line.discountTiyin,
    Amount: (line.quantity * scale) / THOUSAND,
    VAT: line.vatTiyin,
    VATPercent: line.vatPercent,
    Discount: line.discountTiyin,
    CommissionInfo: commissionOf(line.commission, sellerTin),
  }));
}

function commissionOf(given: { tin?: string; pinfl?: string } | null, sellerTin: string | null): WireObject {
  const { tin = null, pinfl = null } = given ?? {};
  if (tin !== null) return { TIN: tin };
  if (pinfl !== null) return { PINFL: pinfl };
  return sellerTin === null ? {} : { TIN: sellerTin };
}
