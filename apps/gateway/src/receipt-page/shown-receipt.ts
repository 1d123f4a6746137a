import type { ReceiptDocument, ReceiptStatus, ReceiptType } from '#fiscal-domain';
import { isTestModule } from '#paper';
import type { ReceiptRow } from '../receipts/receipt.repository.js';

/** Who sells, as the register knows it, else as the merchant set it up. Empty where nobody said. */
export interface Seller {
  name: string;
  tin: string;
  address: string;
  phone: string;
}

/** The sale of a refund, or a refund of a sale. */
export interface RelatedReceipt {
  type: ReceiptType;
  status: ReceiptStatus;
  /** Its own page. */
  url: string;
  receiptSeq: bigint | null;
  totalTiyin: number;
}

/** What a register said about the receipt. */
export interface ShownRegistration {
  terminalId: string;
  receiptSeq: bigint;
  /** Null: this type has none, or it is not known (evidence by counters). */
  fiscalSign: string | null;
  verificationUrl: string | null;
  registeredAt: Date;
  isTest: boolean;
}

/** A receipt as its buyer may see it: nothing about the buyer, nothing that the caller noted beside it. */
export interface ShownReceipt {
  id: string;
  merchantId: string;
  /** Its public page. */
  url: string;
  status: ReceiptStatus;
  type: ReceiptType;
  createdAt: Date;
  seller: Seller;
  document: Pick<ReceiptDocument, 'lines' | 'payment' | 'totalTiyin' | 'vatTotalTiyin'>;
  registration: ShownRegistration | null;
  /** The tax side has not got it yet: its check may not know the receipt. */
  isOnItsWay: boolean;
  /** What refunds hold of it, also those on their way. */
  refundedTiyin: number;
  /** Of a refund its sale, of a sale its refunds. */
  related: readonly RelatedReceipt[];
}

export function shownReceipt(
  row: ReceiptRow,
  around: Pick<ShownReceipt, 'merchantId' | 'url' | 'seller' | 'related'>,
): ShownReceipt {
  const { lines, payment, totalTiyin, vatTotalTiyin } = row.document;
  return {
    ...{ id: row.id, status: row.status, type: row.type, createdAt: row.created_at, ...around },
    document: { lines, payment, totalTiyin, vatTotalTiyin },
    registration: registrationOf(row),
    isOnItsWay: row.ofd_status === 'pending',
    refundedTiyin: Number(row.refunded_tiyin),
  };
}

function registrationOf(row: ReceiptRow): ShownRegistration | null {
  if (row.registered_at === null || row.receipt_seq === null) return null;
  return {
    terminalId: row.terminal_id ?? '',
    receiptSeq: row.receipt_seq,
    fiscalSign: row.fiscal_sign,
    verificationUrl: row.verification_url,
    registeredAt: row.registered_at,
    isTest: isTestModule(row.terminal_id ?? ''),
  };
}
