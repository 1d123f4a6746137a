/** Wire types of the local fiscal API, in the specification's exact casing. Sums in tiyin, quantities in thousandths. */
import type { ReceiptType, RefundInfo } from './receipt.js';

/** The largest body that a register takes. */
export const MAX_LOCAL_REQUEST_BYTES = 1024 * 1024;
/** The largest answer that is read of a register. */
export const MAX_LOCAL_ANSWER_BYTES = 2 * 1024 * 1024;

export interface LocalItem {
  name: string;
  spic: string;
  /** OKEI code. */
  units: number;
  /** Per unit, tiyin. */
  price: number;
  /** Quantity × 1000. */
  amount: number;
  vatPercent: number;
  /** Tiyin; its base is the register's VAT rule. */
  vat: number;
  barcode?: string;
  label?: string;
  labels?: string[];
  discount?: number;
  packageCode?: string;
  /** Our extension `commission`: the seller for whom the goods are sold. */
  commission?: LocalTaxpayer;
  /** The specification leaves its place open; 0 forbids cash wherever it stands. */
  cashSale?: number;
}

export interface LocalReceived {
  cash: number;
  card: number;
  cashSale?: number;
}

/**
 * How the money came, for the tax office: our extension. Only registers with our other extensions are sent it; whatever in it is
 * not as described here is left out, never refused.
 */
export interface LocalExtraInfo {
  /** The payment provider's id of the payment: at most 36 printable ASCII characters. */
  paymentId?: string;
  /** Number of the payment service, e.g. 141 Payme, 64 Click; 1–65535. */
  paymentProvider?: number;
  /** The payer's, `998` and nine digits. */
  phone?: string;
  /** Of the processing centre: at most 16 digits. */
  rrn?: string;
  /** 1 corporate, 2 personal, 3 social. */
  cardType?: number;
}

/** Seller or buyer by the numbers of the tax office: at least one of them. Our extension. */
export interface LocalTaxpayer {
  /** 9 digits. */
  tin?: string;
  /** 14 digits. */
  pinfl?: string;
}

/** Body of POST /receipts. */
export interface LocalReceiptRequest {
  type: ReceiptType;
  items: LocalItem[];
  received: LocalReceived;
  /** Required when type is refund. */
  refundInfo?: RefundInfo;
  extraInfo?: LocalExtraInfo;
  /** Our extension `customer`: the buyer. */
  customer?: LocalTaxpayer;
  /** Our extension `payment_provider`: the wallet by which the sum of `received.card` was paid, as the seller names it. */
  paymentProvider?: string;
  totalVAT?: number;
  cashSale?: number;
}

export interface LocalReceipt {
  terminalId: string;
  receiptSeq: number;
  /** Absent for advance and credit. */
  fiscalSign?: string;
  /** Absent for advance and credit. */
  qrUrl?: string;
  /** Unix time in milliseconds. */
  transactionTime: number;
}

export interface SaleResponse {
  success: true;
  receipt: LocalReceipt;
  receiptHtml: string;
  ofdSent: boolean;
  /** Only when ofdSent is false. */
  ofdError?: string;
  /** Extension: which of FISCAL_FIELDS the registered document holds. */
  recordedFields?: string[];
  /** Extension: number of the shift in which it was registered. */
  shiftNumber?: number;
}

export const SUBSCRIPTION_STATES = ['active', 'expiring', 'expired'] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

/** GET /status. */
export interface LocalStatus {
  app: string;
  version: string;
  systemVersion: string;
  port: number;
  fmInitialized: boolean;
  activated: boolean;
  subscriptionState: SubscriptionState;
  /** Extension, e.g. "idempotency", "journal"; a foreign register has none. */
  capabilities?: string[];
  /** Extension: made once with the register's data folder. */
  journalId?: string;
  /** Extension: while every receipt would be refused by the module, whatever it says. */
  fmRefusal?: FmRefusal;
}

export interface FmRefusal {
  /** F-001 or F-003, as the receipt would be answered. */
  code: string;
  reason: string;
  message: string;
}

/** GET /fm/info. Counts of documents and shifts; accumulated sums are lifetime sums in tiyin. */
export interface FmInfo {
  terminalId: string;
  version: string;
  type: number;
  /** Documents still unsent in the module. */
  receiptCount: number;
  receiptMaxCount: number;
  zreportCount: number;
  zreportMaxCount: number;
  currentReceiptSeq: number;
  AccumulatedSaleCash: number;
  AccumulatedSaleCard: number;
  AccumulatedRefundCash: number;
  AccumulatedRefundCard: number;
  AccumulatedSaleVAT: number;
  AccumulatedRefundVAT: number;
}

/** GET /business. */
export interface LocalBusiness {
  success: boolean;
  business: {
    name: string;
    phone: string;
    tin: string;
    legal_address: string;
    actual_address: string;
    has_warehouse_system: boolean;
  };
}

/** GET /branch. */
export interface LocalBranch {
  success: boolean;
  branch: { _id: string; address: string };
}

/** GET /z-report/current. Times are `YYYY-MM-DD HH:MM:SS`, Tashkent. */
export interface CurrentZReport {
  Header: {
    TerminalID: string;
    Number: number;
    OpenTime: string;
    /** Empty while the shift is open. */
    CloseTime: string;
  };
  TotalSaleCash: number;
  TotalSaleCard: number;
  TotalSaleVAT: number;
  TotalSaleCount: number;
  TotalRefundCash: number;
  TotalRefundCard: number;
  TotalRefundVAT: number;
  TotalRefundCount: number;
}

/** GET /z-report/stats. */
export interface ZReportStats {
  totalClosed: number;
  totalUnacked: number;
  unackedNumbers: number[];
}

/** POST /z-report/open. */
export interface OpenShiftResponse {
  success: boolean;
}

/** POST /z-report/close. */
export interface CloseShiftResponse {
  success: boolean;
  /** closeTime is `YYYYMMDDTHHmmss`, Tashkent. */
  zReport: { number: number; closeTime: string };
  ofdSent: boolean;
  ofdError?: string;
}

/** `receiptSeq` for receipts, `number` for Z-reports. */
export interface ResendError {
  receiptSeq?: number;
  number?: number;
  code: string;
  message: string;
}

/** POST /receipts/send-unsent and /z-report/send-unsent; partial success is normal. */
export interface ResendResult {
  success: boolean;
  total: number;
  sent: number;
  failed: number;
  errors: ResendError[];
}

/** Rule names of the validation codes, as they stand in `error.rule`. */
export const LOCAL_RULES = {
  'E-003': 'ITEM_CASH_FORBIDDEN_CASH_SALE_ZERO',
  'E-004': 'ITEM_LABELS_REQUIRED_FOR_LABELED',
  'E-005': 'RECEIPT_TYPE_INVALID',
  'E-006': 'RECEIPT_ITEMS_EMPTY',
  'E-007': 'RECEIPT_REFUND_INFO_REQUIRED',
  'E-008': 'RECEIPT_SUM_NEGATIVE',
  'E-009': 'RECEIPT_SUM_EXCEEDS_TOTAL',
  'E-010': 'RECEIPT_TOTAL_VAT_MISMATCH',
  'E-011': 'ITEM_NAME_EMPTY',
  'E-012': 'ITEM_PRICE_INVALID',
  'E-013': 'ITEM_SPIC_NOT_IN_TASNIF',
  'E-014': 'ITEM_PACKAGE_CODE_NOT_IN_TASNIF',
  'E-015': 'ITEM_VAT_PERCENT_INVALID',
  'E-016': 'ITEM_VAT_AMOUNT_INVALID',
  'E-017': 'ITEM_LABELS_COUNT_MISMATCH',
  'E-018': 'ITEM_AMOUNT_BELOW_MIN_FOR_LABELED',
} as const;

/** Codes about the document: those that carry a rule. */
export type LocalRuleCode = keyof typeof LOCAL_RULES;

/**
 * E-001 not activated, E-002 subscription expired, F-001 module not initialised, F-002 shift not open, F-003 and F-005 other
 * module failures, S-001 key, S-002 path, S-003 body, S-004 internal, S-005 idempotency conflict, T-001 OFD unreachable, T-003 OFD refused.
 */
export type LocalErrorCode =
  | LocalRuleCode
  | 'E-001'
  | 'E-002'
  | 'F-001'
  | 'F-002'
  | 'F-003'
  | 'F-005'
  | 'S-001'
  | 'S-002'
  | 'S-003'
  | 'S-004'
  | 'S-005'
  | 'T-001'
  | 'T-003';

/** Body of every refused call. */
export interface LocalError {
  success: false;
  error: { code: LocalErrorCode; message: string; rule?: string; details?: unknown };
}
