import { lineGross } from './line.js';
import { isNamed, type FiscalField } from './fiscal-fields.js';
import type { LocalExtraInfo, LocalItem, LocalReceiptRequest, LocalTaxpayer } from './local-api.js';
import { tiyin, type Tiyin } from './money.js';
import type { ReceiptDocument, ReceiptLine } from './receipt.js';
import { wireVat, type VatRule } from './vat.js';

/** What goes beyond the specification, for registers that take it. */
export interface WireExtensions {
  extraInfo?: LocalExtraInfo | null;
  fields?: readonly FiscalField[];
}

/**
 * The body of POST /receipts for a document. Deterministic: the same document and extensions give the same bytes under JSON.stringify.
 * @throws RangeError when a line's total cannot be written on the wire within 2^53
 */
export function toLocalReceipt(
  document: ReceiptDocument,
  vatRule: VatRule,
  { extraInfo = null, fields = [] }: WireExtensions = {},
): LocalReceiptRequest {
  const hasCommission = fields.includes('commission');
  const request: LocalReceiptRequest = {
    type: document.type,
    items: document.lines.map((line) => toLocalItem(line, vatRule, hasCommission)),
    received: { cash: document.payment.cashTiyin, card: document.payment.cardTiyin },
  };
  if (document.refundInfo !== null) {
    const { terminalId, receiptSeq, dateTime, fiscalSign } = document.refundInfo;
    request.refundInfo = { terminalId, receiptSeq, dateTime, fiscalSign };
  }
  if (extraInfo !== null) request.extraInfo = extraInfo;
  const customer = fields.includes('customer') ? taxpayerOf(document.customer) : null;
  if (customer !== null) request.customer = customer;
  if (fields.includes('payment_provider') && document.payment.method === 'wallet') {
    // Without a name the kind of payment stands for it.
    request.paymentProvider = document.payment.provider ?? 'wallet';
  }
  return request;
}

function taxpayerOf(party: { tin?: string | null; pinfl?: string | null } | null): LocalTaxpayer | null {
  if (party === null || !isNamed(party)) return null;
  const { tin = null, pinfl = null } = party;
  return { ...(tin !== null && { tin }), ...(pinfl !== null && { pinfl }) };
}

function toLocalItem(line: ReceiptLine, vatRule: VatRule, hasCommission: boolean): LocalItem {
  const { priceTiyin, discountTiyin } = wirePrice(line);
  const { quantity, vatPercent } = line;
  const item: LocalItem = {
    name: line.name,
    spic: line.spic,
    units: line.units,
    price: priceTiyin,
    amount: quantity,
    vatPercent,
    // The VAT of a refund's share may be 1 tiyin off its own net, so that the parts add up to the sale's VAT.
    vat: vatRule === 'line-net' ? line.vatTiyin : wireVat(vatRule, { priceTiyin, quantity, discountTiyin, vatPercent }),
  };
  if (line.barcode !== null && line.barcode !== '') item.barcode = line.barcode;
  const [firstLabel] = line.labels;
  if (firstLabel !== undefined) {
    item.label = firstLabel;
    item.labels = [...line.labels];
  }
  if (discountTiyin > 0) item.discount = discountTiyin;
  if (line.packageCode !== '') item.packageCode = line.packageCode;
  const commission = hasCommission ? taxpayerOf(line.commission) : null;
  if (commission !== null) item.commission = commission;
  return item;
}

/**
 * Price and discount as the fiscal document has them: their line total is exactly `totalTiyin`. Usually the line's own. A refund's share of a line need
 * not be price × quantity: then the unit price is raised as little as needed and the excess is sent as discount.
 */
export function wirePrice(line: ReceiptLine): { priceTiyin: Tiyin; discountTiyin: Tiyin } {
  const total = BigInt(line.totalTiyin);
  const gross = lineGross(line.priceTiyin, line.quantity);
  if (gross >= total) return { priceTiyin: line.priceTiyin, discountTiyin: tiyin(Number(gross - total)) };
  // Smallest price with half-up(price × quantity / 1000) ≥ total, that is price × quantity ≥ total × 1000 − 500.
  const quantity = BigInt(line.quantity);
  const raised = (total * 1000n - 500n + quantity - 1n) / quantity;
  const priceTiyin = tiyin(Number(raised));
  return { priceTiyin, discountTiyin: tiyin(Number(lineGross(priceTiyin, line.quantity) - total)) };
}
