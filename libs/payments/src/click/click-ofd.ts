import { providerDocument, type FiscalLines, type ProviderDocument } from '../fiscal.js';
import { textAt, type WireObject } from '../wire.js';

const MAX_NAME = 63;
const THOUSAND = 1_000;

/**
 * `items` of ofd_data/submit_items (facts §3.3): tiyin, `Price` is the line before its discount. In which scale `Amount` counts is
 * nowhere confirmed: ones here, so only whole quantities can be said.
 * @param sellerTin for goods of the merchant's own; null: the lines have to name it
 */
export function clickItems(lines: FiscalLines, sellerTin: string | null): WireObject[] {
  return lines.map((line) => ({
    Name: line.name.slice(0, MAX_NAME),
    ...(line.barcode !== null && { Barcode: line.barcode.slice(0, 13) }),
    SPIC: line.spic,
    Units: line.units,
    PackageCode: line.packageCode,
    GoodPrice: line.priceTiyin,
    Price: line.totalTiyin + line.discountTiyin,
    Amount: line.quantity / THOUSAND,
    VAT: line.vatTiyin,
    VATPercent: line.vatPercent,
    Discount: line.discountTiyin,
    CommissionInfo: commissionOf(line.commission, sellerTin),
  }));
}

function commissionOf(given: { tin?: string; pinfl?: string } | null, sellerTin: string | null): WireObject {
  if (given?.tin !== undefined) return { TIN: given.tin };
  if (given?.pinfl !== undefined) return { PINFL: given.pinfl };
  return sellerTin === null ? {} : { TIN: sellerTin };
}

/** `{paymentId, qrCodeURL}`; null while Click has no document. */
export function readClickDocument(body: WireObject): ProviderDocument | null {
  const url = textAt(body, 'qrCodeURL');
  return providerDocument({ url, terminalId: null, receiptSeq: null, fiscalSign: null, compactTime: null });
}
