import { providerDocument, type FiscalLines, type LineForm, type ProviderDocument } from '../fiscal.js';
import { integerAt, textAt, type WireObject } from '../wire.js';

const THOUSAND = 1_000;

/** Whether `count` may be a fraction is nowhere confirmed; for who else's goods are sold it has no field. */
export const PAYME_LINE_FORM: LineForm = { fractions: false, discounts: true, commission: [] };

/**
 * `detail` of receipts.create and of CheckPerformTransaction's answer: by it Payme registers the receipt itself. Unit
 * prices and whole counts; Σ(price × count − discount) is the sum. It has no field for marking codes.
 */
export function paymeDetail(lines: FiscalLines): WireObject {
  return {
    receipt_type: 0,
    items: lines.map((line) => ({
      title: line.name,
      price: line.priceTiyin,
      count: line.quantity / THOUSAND,
      ...(line.discountTiyin > 0 && { discount: line.discountTiyin }),
      code: line.spic,
      package_code: line.packageCode,
      vat_percent: line.vatPercent,
      units: line.units,
    })),
  };
}

export type PaymeFiscal =
  | { kind: 'document'; document: ProviderDocument }
  /** The tax office did not take it, or the fields do not identify it. */
  | { kind: 'refused'; detail: string }
  /** A field that has to be there is not, or makes no sense. */
  | { kind: 'unreadable'; field: string };

/** `fiscal_data` of SetFiscalData. The code list is published nowhere; 0 is "accepted", anything else is not. */
export function readPaymeFiscal(data: WireObject): PaymeFiscal {
  const status = integerAt(data, 'status_code');
  if (status !== null && status !== 0)
    return { kind: 'refused', detail: `status_code ${String(status)}: ${textAt(data, 'message') ?? 'no message'}` };
  for (const field of ['receipt_id', 'qr_code_url'])
    if (textAt(data, field) === null) return { kind: 'unreadable', field };
  const document = providerDocument({
    url: textAt(data, 'qr_code_url'),
    terminalId: textAt(data, 'terminal_id'),
    receiptSeq: textAt(data, 'receipt_id'),
    fiscalSign: textAt(data, 'fiscal_sign'),
    compactTime: textAt(data, 'date'),
  });
  return document
    ? { kind: 'document', document }
    : { kind: 'refused', detail: 'it names no document of the tax office' };
}
