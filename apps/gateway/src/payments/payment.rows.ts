import type { StoredReceiptDocument } from '#database';
import type { ReceiptStatus } from '#fiscal-domain';
import type {
  NextAction,
  PaymentEvidence,
  PaymentFlow,
  PaymentMover,
  PaymentState,
  ProviderCode,
  ProviderDocument,
} from '#payments';
import type { Alternative } from './routing/alternative.js';
import type { FiscalRefund, FurtherSale } from './several-receipts.js';

/** `payments` with what the saga has to know of its receipt, read by one statement. */
export interface PaymentFacts {
  id: string;
  number: bigint;
  merchant_id: string;
  account_id: string;
  receipt_id: string;
  provider: ProviderCode;
  flow: PaymentFlow;
  state: PaymentState;
  amount_tiyin: bigint;
  refunded_tiyin: bigint;
  provider_ref: string | null;
  instrument_sealed: Uint8Array | null;
  return_url: string | null;
  next_action: NextAction | null;
  evidence: PaymentEvidence | null;
  reason: string | null;
  waits_for_capture: boolean;
  code: 'none' | 'awaited' | 'given';
  fiscal_mode: 'gateway' | 'provider';
  /** The provider's own, as far as they are known. */
  fiscal_documents: { sale?: ProviderDocument; refund?: ProviderDocument } | null;
  lines_submitted: boolean;
  cancel_requested: boolean;
  expires_at: Date;
  hold_until: Date | null;
  link: 'missing' | 'attached' | 'refused';
  /** Of a payment that its merchant's rules have routed: where it may go instead. */
  alternatives: Alternative[] | null;
  failures: number;
  /** Counts what happened to its receipts. */
  news: number;
  created_at: Date;
  state_since: Date;
  /** Of its provider, as a person has found it right. */
  accepted_difference: unknown;
  is_receipt_kept: boolean;
  /** When a hint of its provider has its status read, or had; null: none has come. */
  hinted_at: Date | null;
  now: Date;
  receipt_status: ReceiptStatus;
  trace_parent: string | null;
  /** Null: the provider registers it. */
  device_id: string | null;
  document: StoredReceiptDocument;
  terminal_id: string | null;
  receipt_seq: bigint | null;
  fiscal_sign: string | null;
  verification_url: string | null;
  /** Of the first receipt. */
  fiscal_refund: FiscalRefund;
  /** Receipts are refunded whose money is neither back nor on its way. */
  is_refunded_ahead: boolean;
  /** Of a payment for several receipts: the others. */
  further: FurtherSale[] | null;
  /**
   * The sum that is being asked back from the provider, else the oldest that is to be. Never more than is left: a part may have gone back
   * since all of the rest was written down.
   */
  refund_id: bigint | null;
  refund_tiyin: bigint | null;
  /** How often it was asked for. */
  refund_calls: number;
  /** It is older than a restore of the database: it may have been asked for, and be back. */
  may_be_back: boolean;
  /** The payment is: its money may have been asked for. */
  is_of_copy: boolean;
  /** When the database was put back from a copy last: microseconds since 1970. */
  put_back_us: bigint | null;
  /** When the last call that moves money left here, or that of its refund is presumed to have. */
  money_called_at: Date | null;
}

/** Who works on a payment: everything that it writes is written only while this holds. */
export interface Lease {
  paymentId: string;
  leaseId: string;
}

/** The same on a server that is known, by a reader who knew of the newest change of its database. */
export interface InformedLease extends Lease {
  putBackUs: bigint | null;
}

/** Who moves a payment: the worker by its lease, or who holds the row's lock. */
export type Hand = Lease | InformedLease | { paymentId: string; by: Exclude<PaymentMover, 'worker'> };
