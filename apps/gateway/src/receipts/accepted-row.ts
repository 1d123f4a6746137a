import type { StoredReceiptDocument } from '#database';
import type { ReceiptRow } from '#ledger';

export interface AcceptedRow {
  id: string;
  externalId: string | null;
  deviceId: string;
  branchId: string | null;
  cashierId: string | null;
  refundOf: string | null;
  document: StoredReceiptDocument;
}

/** The row as the statement that has just committed left it. */
export function acceptedRow(row: AcceptedRow, createdAt: Date): ReceiptRow {
  return {
    id: row.id,
    status: 'accepted',
    type: row.document.type,
    external_id: row.externalId,
    device_id: row.deviceId,
    branch_id: row.branchId,
    cashier_id: row.cashierId,
    document: row.document,
    created_at: createdAt,
    refund_of: row.refundOf,
    payment_id: null,
    terminal_id: null,
    receipt_seq: null,
    fiscal_sign: null,
    verification_url: null,
    registered_at: null,
    evidence: null,
    recorded_fields: null,
    shift_number: null,
    ofd_status: null,
    ofd_deadline_at: null,
    ofd_sent_at: null,
    ofd_error: null,
    rejection: null,
    is_surplus: false,
    refunded_tiyin: 0n,
  };
}
