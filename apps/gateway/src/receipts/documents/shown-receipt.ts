import type { FiscalField, ReceiptDocument, ReceiptStatus, ReceiptType } from '#fiscal-domain';
import type { ReceiptRow } from '#ledger';
import { isTestModule } from '#paper';

/** Who sells, as the register knows it, else as the merchant set it up. Empty where unknown. */
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
  /** Null: not certain. */
  shiftNumber: number | null;
  /** What of seller and wallet the fiscal document holds. */
  recordedFields: readonly FiscalField[];
}

/** What the merchant puts on its receipts beside what the law asks for. */
export interface ShownBrand {
  header: string;
  footer: string;
  logo: ShownLogo | null;
}

/** PNG, and its dots. */
export interface ShownLogo {
  png: Buffer;
  width: number;
  height: number;
}

/** How the buyer may have the receipt sent, by the merchant's accounts. */
export interface SendWays {
  email: boolean;
  sms: boolean;
  /** Name of the merchant's bot; null: it has none. */
  bot: string | null;
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
  /** Null: none was named, or the cashier no longer exists. */
  cashier: string | null;
  document: Pick<ReceiptDocument, 'lines' | 'payment' | 'totalTiyin' | 'vatTotalTiyin'>;
  registration: ShownRegistration | null;
  /** The tax side has not got it yet: its check may not know the receipt. */
  isOnItsWay: boolean;
  /** Names of packages by {@link packageKey}, where the unit of measure has no name of its own. */
  packageNames: ReadonlyMap<string, string>;
  /** Until when refunds are counted. */
  asOf: Date;
  /** What refunds hold of it, also those on their way. */
  refundedTiyin: number;
  /** Of a refund its sale, of a sale its refunds. */
  related: readonly RelatedReceipt[];
  sendWays: SendWays;
  brand: ShownBrand;
}

/** What stands around the row of a receipt. */
export interface Around extends Pick<
  ShownReceipt,
  'merchantId' | 'url' | 'seller' | 'cashier' | 'related' | 'packageNames' | 'asOf' | 'sendWays' | 'brand'
> {
  /** Where the register itself did not say. */
  observedShift: number | null;
}

export function shownReceipt(row: ReceiptRow, { observedShift, ...around }: Around): ShownReceipt {
  const { lines, payment, totalTiyin, vatTotalTiyin } = row.document;
  return {
    ...{ id: row.id, status: row.status, type: row.type, createdAt: row.created_at, ...around },
    document: { lines, payment, totalTiyin, vatTotalTiyin },
    registration: registrationOf(row, observedShift),
    isOnItsWay: row.ofd_status === 'pending',
    refundedTiyin: Number(row.refunded_tiyin),
  };
}

export function packageKey({ spic, packageCode }: { spic: string; packageCode: string }): string {
  return `${spic}/${packageCode}`;
}

function registrationOf(row: ReceiptRow, observedShift: number | null): ShownRegistration | null {
  if (row.registered_at === null || row.receipt_seq === null) return null;
  return {
    terminalId: row.terminal_id ?? '',
    receiptSeq: row.receipt_seq,
    fiscalSign: row.fiscal_sign,
    verificationUrl: row.verification_url,
    registeredAt: row.registered_at,
    isTest: isTestModule(row.terminal_id ?? ''),
    shiftNumber: row.shift_number ?? observedShift,
    recordedFields: row.recorded_fields ?? [],
  };
}
