import type { StoredReceiptDocument } from '#database';
import {
  formatQuantity,
  isTestId,
  type FiscalField,
  type PaymentMethod,
  type ReceiptCustomer,
  type ReceiptLine,
  type ReceiptStatus,
  type ReceiptType,
} from '#fiscal-domain';
import type { ReceiptRow } from '#ledger';

/** What of a receipt is decided before anything is stored. Money in tiyin. */
export interface DocumentView {
  type: ReceiptType;
  items: LineView[];
  total: number;
  vat_total: number;
  payment: { method: PaymentMethod; provider: string | null; cash: number; card: number };
  customer: CustomerView | null;
  callback_url: string | null;
  notify: NotifyView | null;
  metadata: Record<string, string>;
}

/** How the buyer gets it; what became of that: GET /v1/receipts/{id}/messages. */
interface NotifyView {
  channels: ('email' | 'sms' | 'telegram')[];
  language: 'uz' | 'ru' | 'en';
}

type CustomerView = Record<keyof ReceiptCustomer, string | null>;

/** The receipt as the API shows it. Money in tiyin, times in RFC 3339 UTC. */
export interface ReceiptView extends DocumentView {
  id: string;
  status: ReceiptStatus;
  external_id: string | null;
  device_id: string | null;
  branch_id: string | null;
  cashier_id: string | null;
  created_at: string;
  fiscal: FiscalView | null;
  ofd: { status: 'pending' | 'sent'; deadline_at: string | null; sent_at: string | null; error: string | null } | null;
  receipt_url: string;
  rejection: ReceiptRow['rejection'];
  refund_of: string | null;
  /** What refunds hold of it, also those on their way; complete: no money is left to refund. */
  refunded: { total: number; complete: boolean };
  payment_id: string | null;
  /** Of a sandbox: a test receipt, whatever its status. */
  sandbox: boolean;
  /** The refund of a document that its register has once too often: no turnover, and no part of `refunded`. */
  surplus: boolean;
}

interface LineView {
  /** From 1. */
  line: number;
  sku: string | null;
  name: string;
  qty: number;
  price: number;
  discount: number;
  total: number;
  vat_percent: number;
  vat: number;
  spic: string;
  package_code: string;
  units: number;
  barcode: string | null;
  labels: string[];
  commission: ReceiptLine['commission'];
  /** Only on a refund: the sale's line that it returns a part of. */
  original_line?: number;
}

interface FiscalView {
  terminal_id: string | null;
  receipt_seq: number;
  fiscal_sign: string | null;
  verification_url: string | null;
  registered_at: string;
  evidence: ReceiptRow['evidence'];
  /** Which of what the specification has no place for the fiscal document holds; the rest is known here alone. */
  recorded_fields: FiscalField[];
  /** Null where the register does not say. */
  shift_number: number | null;
}

export function receiptView(row: ReceiptRow, receiptUrl: string): ReceiptView {
  const { customer, items, metadata, payment, total, vat_total, callback_url, notify } = documentView(row.document);
  return {
    id: row.id,
    status: row.status,
    type: row.type,
    external_id: row.external_id,
    device_id: row.device_id,
    branch_id: row.branch_id,
    cashier_id: row.cashier_id,
    created_at: row.created_at.toISOString(),
    ...{ items, total, vat_total, payment, customer },
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
    refunded: refundedOf(row),
    payment_id: row.payment_id,
    ...{ callback_url, notify, metadata },
    sandbox: isTestId(row.id),
    surplus: row.is_surplus,
  };
}

export function documentView(document: StoredReceiptDocument): DocumentView {
  const { method, provider, cashTiyin, cardTiyin } = document.payment;
  return {
    type: document.type,
    items: document.lines.map(lineView),
    total: document.totalTiyin,
    vat_total: document.vatTotalTiyin,
    payment: { method, provider, cash: cashTiyin, card: cardTiyin },
    customer: document.customer && customerView(document.customer),
    callback_url: document.callbackUrl,
    notify: document.notify ? { channels: [...document.notify.channels], language: document.notify.language } : null,
    metadata: document.metadata ?? {},
  };
}

function customerView({ phone, email, tin, pinfl }: ReceiptCustomer): CustomerView {
  return { phone: phone ?? null, email: email ?? null, tin: tin ?? null, pinfl: pinfl ?? null };
}

function lineView(line: ReceiptLine): LineView {
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
    ...(line.originalLine !== undefined && { original_line: line.originalLine }),
  };
}

function refundedOf({ type, document, refunded_tiyin: refunded }: ReceiptRow): ReceiptView['refunded'] {
  const total = Number(refunded);
  return { total, complete: type === 'sale' && total === document.totalTiyin };
}

function fiscalView(row: ReceiptRow): FiscalView | null {
  if (row.registered_at === null || row.receipt_seq === null) return null;
  return {
    terminal_id: row.terminal_id,
    receipt_seq: Number(row.receipt_seq),
    fiscal_sign: row.fiscal_sign,
    verification_url: row.verification_url,
    registered_at: row.registered_at.toISOString(),
    evidence: row.evidence,
    recorded_fields: row.recorded_fields ?? [],
    shift_number: row.shift_number,
  };
}
