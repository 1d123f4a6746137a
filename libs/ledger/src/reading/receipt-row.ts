import { LEDGER_REFUND, Prisma, SURPLUS_OPERATION, type StoredReceiptDocument } from '#database';
import type { FiscalField, ReceiptStatus, ReceiptType } from '#fiscal-domain';

/** `receipts` as the API reads it. */
export interface ReceiptRow {
  id: string;
  status: ReceiptStatus;
  type: ReceiptType;
  external_id: string | null;
  device_id: string | null;
  branch_id: string | null;
  cashier_id: string | null;
  document: StoredReceiptDocument;
  refund_of: string | null;
  payment_id: string | null;
  created_at: Date;
  terminal_id: string | null;
  receipt_seq: bigint | null;
  fiscal_sign: string | null;
  verification_url: string | null;
  registered_at: Date | null;
  evidence: 'answer' | 'journal' | 'counters' | 'operator' | null;
  recorded_fields: FiscalField[] | null;
  shift_number: number | null;
  ofd_status: 'pending' | 'sent' | null;
  ofd_deadline_at: Date | null;
  ofd_sent_at: Date | null;
  ofd_error: string | null;
  rejection: { code: string; rule: string | null; detail: string; line: number | null } | null;
  /** It takes back a document that a register has once too often. */
  is_surplus: boolean;
  /** Sum of what refunds hold of it, also those that are still on their way. */
  refunded_tiyin: bigint;
}

const IS_SURPLUS = Prisma.raw(`receipts.operation = '${SURPLUS_OPERATION}'`);

/**
 * What a {@link ReceiptRow} is read from; the table goes by its own name.
 * @param refunds a further condition on refunds `f`, which all refunds of the receipts that are read meet
 */
export function receiptColumns(refunds: Prisma.Sql = Prisma.empty): Prisma.Sql {
  return Prisma.sql`
  receipts.id, receipts.status, receipts.type, external_id, device_id, branch_id, cashier_id, document, refund_of,
  payment_id, created_at, terminal_id, receipt_seq, fiscal_sign, verification_url, registered_at, evidence, recorded_fields,
  shift_number, ofd_status,
  ofd_deadline_at, ofd_sent_at, ofd_error, rejection, ${IS_SURPLUS} AS is_surplus,
  (SELECT coalesce(sum(f.total_tiyin), 0)::bigint FROM receipts f
    WHERE f.refund_of = receipts.id AND ${LEDGER_REFUND} ${refunds}) AS refunded_tiyin`;
}
