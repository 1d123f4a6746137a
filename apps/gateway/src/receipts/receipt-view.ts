import { formatQuantity, type ReceiptLine } from '#fiscal-domain';
import type { ReceiptRow } from './receipt.repository.js';

/** The receipt as the API shows it: contract.md "Receipt". Money in tiyin, times in RFC 3339 UTC. */
export type ReceiptView = ReturnType<typeof receiptView>;

export function receiptView(row: ReceiptRow, receiptUrl: string) {
  const { document } = row;
  return {
    id: row.id,
    status: row.status,
    type: row.type,
    external_id: row.external_id,
    device_id: row.device_id,
    branch_id: row.branch_id,
    cashier_id: row.cashier_id,
    created_at: row.created_at.toISOString(),
    items: document.lines.map(lineView),
    total: document.totalTiyin,
    vat_total: document.vatTotalTiyin,
    payment: {
      method: document.payment.method,
      provider: document.payment.provider,
      cash: document.payment.cashTiyin,
      card: document.payment.cardTiyin,
    },
    customer: document.customer,
    fiscal: fiscalView(row),
    ofd: row.ofd_status && {
      status: row.ofd_status,
      deadline_at: row.ofd_deadline_at?.toISOString() ?? null,
      sent_at: row.ofd_sent_at?.toISOString() ?? null,
      error: row.ofd_error,
    },
    receipt_url: receiptUrl,
    rejection: row.rejection,
    refund_of: row.refund_of,
    refunded: { total: 0, complete: false },
    payment_id: row.payment_id,
    callback_url: document.callbackUrl,
    metadata: document.metadata,
  };
}

function lineView(line: ReceiptLine) {
  return {
    line: line.line,
    sku: line.sku,
    name: line.name,
    qty: Number(formatQuantity(line.quantity)),
    price: line.priceTiyin,
    discount: line.discountTiyin,
    total: line.totalTiyin,
    vat_percent: line.vatPercent,
    vat: line.vatTiyin,
    spic: line.spic,
    package_code: line.packageCode,
    units: line.units,
    barcode: line.barcode,
    labels: line.labels,
    commission: line.commission,
  };
}

function fiscalView(row: ReceiptRow) {
  if (row.registered_at === null || row.receipt_seq === null) return null;
  return {
    terminal_id: row.terminal_id,
    receipt_seq: Number(row.receipt_seq),
    fiscal_sign: row.fiscal_sign,
    verification_url: row.verification_url,
    registered_at: row.registered_at.toISOString(),
    evidence: row.evidence,
  };
}
