import { tiyin, sumTiyin, type Tiyin } from './money.js';
import type { Thousandths } from './quantity.js';
import type { VatPercent } from './vat.js';

export const RECEIPT_TYPES = ['sale', 'refund', 'advance', 'credit'] as const;
export type ReceiptType = (typeof RECEIPT_TYPES)[number];

/**
 * Largest code of a unit of measure. The specification names none. OKEI has three or four digits; what the national register of
 * goods numbers itself, and fiscal modules are sent, has up to nine (244272402).
 */
export const MAX_UNITS = 999_999_999;

export interface ReceiptLine {
  /** From 1. */
  line: number;
  sku: string | null;
  name: string;
  quantity: Thousandths;
  /** Per unit, VAT included. */
  priceTiyin: Tiyin;
  discountTiyin: Tiyin;
  /** The net: half-up(price × quantity / 1000) − discount, except on a refund's share of a line. */
  totalTiyin: Tiyin;
  vatPercent: VatPercent;
  /** VAT of the net, whatever the wire says. */
  vatTiyin: Tiyin;
  /** 17 digits (IKPU). */
  spic: string;
  packageCode: string;
  /** Code of the unit of measure: OKEI, or the register of goods' own ({@link MAX_UNITS}). */
  units: number;
  barcode: string | null;
  /** Marking codes, one per piece. */
  labels: string[];
  commission: { tin?: string; pinfl?: string } | null;
  /** On a refund only: the sale's line of which this is a part, from 1. */
  originalLine?: number;
}

export const PAYMENT_METHODS = ['cash', 'card', 'wallet', 'mixed', 'online'] as const;
export type PaymentMethod = (typeof PAYMENT_METHODS)[number];

export interface ReceiptPayment {
  method: PaymentMethod;
  provider: string | null;
  cashTiyin: Tiyin;
  /** Wallet money counts as card. */
  cardTiyin: Tiyin;
}

/** The refunded sale, exactly as its register knows it; also the wire shape of the local API. */
export interface RefundInfo {
  /** 2 letters + 12 digits. */
  terminalId: string;
  receiptSeq: number;
  /** YYYYMMDDTHHmmss in Tashkent time: the `c` of the sale's link plus a literal T, never recomputed. */
  dateTime: string;
  fiscalSign: string;
}

export interface ReceiptCustomer {
  /** 12 digits, 998… */
  phone?: string;
  email?: string;
  /** 9 digits. */
  tin?: string;
  /** 14 digits. */
  pinfl?: string;
}

export interface ReceiptDocument {
  type: ReceiptType;
  lines: ReceiptLine[];
  payment: ReceiptPayment;
  totalTiyin: Tiyin;
  vatTotalTiyin: Tiyin;
  customer: ReceiptCustomer | null;
  refundInfo: RefundInfo | null;
}

export interface ReceiptTotals {
  totalTiyin: Tiyin;
  vatTotalTiyin: Tiyin;
}

/**
 * A receipt's total is the sum of its lines' totals, its VAT the sum of their VAT.
 * @throws RangeError when a sum leaves the safe integers; ask {@link sumTiyin} first where a caller can cause it.
 */
export function resolvedTotals(lines: readonly Pick<ReceiptLine, 'totalTiyin' | 'vatTiyin'>[]): ReceiptTotals {
  return {
    totalTiyin: sumOrThrow(lines.map((line) => line.totalTiyin)),
    vatTotalTiyin: sumOrThrow(lines.map((line) => line.vatTiyin)),
  };
}

function sumOrThrow(values: Tiyin[]): Tiyin {
  const sum = sumTiyin(values);
  if (sum.kind !== 'ok') throw new RangeError('The sum of the lines is beyond 2^53 tiyin');
  return tiyin(sum.totalTiyin);
}
