import type { LocalExtraInfo, LocalTaxpayer, ReceiptType, RefundInfo } from '#fiscal-domain';

/** As the documents write it: both keys, in this order. */
export interface Taxpayer {
  readonly pinfl: string | null;
  readonly tin: string | null;
}

/** A line as the fiscal module and the OFD keep it. Money in tiyin, `amount` in thousandths, `total` and `vat` net of discount. */
export interface FiscalItem {
  readonly amount: number;
  readonly barcode: string | null;
  /** The seller on whose behalf it is sold; absent without one, so that such a document is written as before. */
  readonly commission?: Taxpayer;
  readonly discount: number;
  readonly labels: readonly string[];
  readonly name: string;
  readonly package_code: string | null;
  readonly price: number;
  readonly spic: string;
  readonly total: number;
  readonly units: number;
  readonly vat: number;
  readonly vat_percent: number;
}

/** What is to be registered: everything but what only the module knows (sequence, time, sign). */
export interface FiscalDocument {
  readonly type: ReceiptType;
  readonly items: readonly FiscalItem[];
  readonly cashTiyin: number;
  readonly cardTiyin: number;
  /** Sum of the lines' net VAT. */
  readonly vatTiyin: number;
  readonly refundInfo: RefundInfo | null;
  /** How the money came, where it is known. */
  readonly extraInfo?: LocalExtraInfo | null;
  readonly customer?: LocalTaxpayer | null;
  /** The wallet by which `cardTiyin` was paid. */
  readonly paymentProvider?: string | null;
}

export interface Registration {
  readonly terminalId: string;
  readonly seq: number;
  readonly timeMs: number;
  /** Canonical JSON of the document: what the digest covers and what the OFD receives (ofd-document.ts). */
  readonly payload: string;
  readonly digest: string;
  /** 12 digits; `null` for advance and credit. */
  readonly sign: string | null;
}

export interface Sums {
  readonly cash: number;
  readonly card: number;
  readonly vat: number;
}

/** A shift and its totals. Advance and credit count as documents but move no sums: their money is not yet turnover. */
export interface Shift {
  readonly number: number;
  readonly openedMs: number;
  readonly closedMs: number | null;
  /** All documents of the shift, whatever their type. */
  readonly documents: number;
  readonly saleCount: number;
  readonly sale: Sums;
  readonly refundCount: number;
  readonly refund: Sums;
}

export interface ZReport {
  readonly number: number;
  readonly payload: string;
  readonly digest: string;
}

export interface ModuleInfo {
  readonly terminalId: string;
  readonly version: string;
  /** Last sequence number given; 0 before the first document. */
  readonly receiptSeq: number;
  readonly unsentReceipts: number;
  readonly receiptCapacity: number;
  readonly shiftsUsed: number;
  readonly shiftCapacity: number;
  readonly sale: Sums;
  readonly refund: Sums;
}

export type ModuleRefusalReason =
  | 'chain_broken'
  | 'shift_not_open'
  | 'shift_already_open'
  | 'shift_empty'
  | 'shift_full'
  | 'memory_full'
  | 'shift_memory_full'
  | 'sums_full'
  | 'clock_behind'
  | 'disk_full'
  | 'unsent_too_old'
  | 'payment_mismatch'
  | 'refund_exceeds_sales'
  | 'refund_receipt_unknown'
  | 'refund_mismatch';

/** The module will not do it; nothing has changed. Codes: facts of the local API, F-001 … F-005. */
export interface ModuleRefusal {
  readonly kind: 'refused';
  readonly code: 'F-001' | 'F-002' | 'F-003' | 'F-005';
  readonly reason: ModuleRefusalReason;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export type RegisterOutcome = { readonly kind: 'registered'; readonly registration: Registration } | ModuleRefusal;
export type OpenShiftOutcome = { readonly kind: 'opened'; readonly shift: Shift } | ModuleRefusal;
export type CloseShiftOutcome = { readonly kind: 'closed'; readonly shift: Shift } | ModuleRefusal;

/**
 * The part that makes a receipt fiscal. The software module is one implementation; a hardware module is put in by
 * implementing this port and passing `fiscal-module.contract.ts`.
 *
 * Operations run one at a time, each at least the pacing interval after the one before it: callers wait rather than fail.
 */
export interface FiscalModule {
  /** `null` when ready; otherwise why nothing can be fiscalised. */
  fault(): ModuleRefusal | null;
  /**
   * What the module would refuse any document with at this moment, a fault included: a clock that is behind, a disk without room, a full memory.
   * `null`: it depends on the document. One that polls a register keeps it out of use while this stands, instead of finding it out by sales.
   */
  standingRefusal(): ModuleRefusal | null;
  info(): ModuleInfo;
  /** The open shift, else the last closed one, else `null`. */
  currentShift(): Shift | null;
  openShift(): Promise<OpenShiftOutcome>;
  /** A closed shift's Z-report is unsent until acknowledged. */
  closeShift(): Promise<CloseShiftOutcome>;
  /**
   * Gives the next sequence number, moves the sums and signs.
   * @param record called exactly once with the registration, inside the transaction that makes it durable: the journal
   * entry stands if and only if the document does. A module with a memory of its own calls it right after its device
   * confirmed, and on its next start again for a confirmed document that was not recorded (crash in between).
   */
  register(document: FiscalDocument, record: (registration: Registration) => void): Promise<RegisterOutcome>;
  /** Sequence numbers that no OFD has acknowledged, oldest first. */
  unsentReceipts(): number[];
  oldestUnsentMs(): number | null;
  /**
   * Frees the documents' places in the module's memory. Unknown or already freed numbers are ignored. A crash may undo
   * it, close() may not: what is unsent again is sent again.
   */
  acknowledgeReceipts(seqs: readonly number[]): void;
  unsentZReports(): number[];
  zReport(shiftNumber: number): ZReport | null;
  acknowledgeZReports(numbers: readonly number[]): void;
  /** Called once, before the power goes off in an orderly way. */
  close(): void;
}
