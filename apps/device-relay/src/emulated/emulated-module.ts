import { createHash, createSecretKey } from 'node:crypto';
import {
  buildVerificationLink,
  SHIFT_DOCUMENT_LIMIT,
  tashkentCompact,
  type ReceiptType,
  type SaleResponse,
} from '#fiscal-domain';
import {
  addSums,
  areExact,
  covers,
  digestOf,
  documentPayload,
  NO_DIGEST,
  NO_SUMS,
  parseDocument,
  recordedFields,
  refusal,
  signOf,
  type FiscalDocument,
  type ModuleRefusal,
  type Shift,
  type Sums,
} from '#fiscal-module';

/** What an emulated module keeps; `emulated_registers.state`. */
export interface EmulatedState {
  readonly receiptSeq: number;
  readonly lastDigest: string;
  readonly lastSign: string;
  readonly sale: Sums;
  readonly refund: Sums;
  /** The open one, else the last. */
  readonly shift: Shift | null;
}

export const NEW_STATE: EmulatedState = {
  ...{ receiptSeq: 0, lastDigest: NO_DIGEST, lastSign: '', sale: NO_SUMS, refund: NO_SUMS, shift: null },
};

/** Leads nowhere, on purpose: no check of the tax authority knows a test receipt. */
const TEST_CHECK = 'https://sandbox.invalid/check';

/** Rows that an older version wrote, and the empty one of a new register. */
export function readState(stored: unknown): EmulatedState {
  return { ...NEW_STATE, ...(stored as Partial<EmulatedState>) };
}

export type Moved<T> = { readonly kind: 'done'; readonly state: EmulatedState; readonly value: T } | ModuleRefusal;

export function openShift(state: EmulatedState, nowMs: number): Moved<null> {
  if (state.shift?.closedMs === null) return refusal('shift_already_open');
  const shift: Shift = {
    ...{ number: (state.shift?.number ?? 0) + 1, openedMs: nowMs, closedMs: null, documents: 0 },
    ...{ saleCount: 0, sale: NO_SUMS, refundCount: 0, refund: NO_SUMS },
  };
  return { kind: 'done', state: { ...state, shift }, value: null };
}

export function closeShift(state: EmulatedState, nowMs: number): Moved<Shift> {
  const { shift } = state;
  if (shift?.closedMs !== null) return refusal('shift_not_open');
  if (shift.documents === 0) return refusal('shift_empty');
  const closed = { ...shift, closedMs: nowMs };
  return { kind: 'done', state: { ...state, shift: closed }, value: closed };
}

/** Numbers, signs and chains a document as the software module does; its key is no secret, because it proves nothing. */
export function register(
  state: EmulatedState,
  document: FiscalDocument,
  { terminalId, nowMs }: { terminalId: string; nowMs: number },
): Moved<SaleResponse> {
  const { shift } = state;
  if (shift?.closedMs !== null) return refusal('shift_not_open');
  if (shift.documents >= SHIFT_DOCUMENT_LIMIT) return refusal('shift_full');
  const sums = sumsOf(document, state);
  // Sums beyond 2^53 are no numbers that a caller reads: without an answer to GET /fm/info the lane would stand still.
  if (document.type === 'sale' && !areExact(addSums(state.sale, sums))) return refusal('sums_full');
  if (document.type === 'refund' && !covers(state.sale, addSums(state.refund, sums)))
    return refusal('refund_exceeds_sales');
  const seq = state.receiptSeq + 1;
  const time = tashkentCompact(nowMs);
  const payload = documentPayload(document, { terminalId, seq, time, prevDigest: state.lastDigest }, shift.number);
  const lastDigest = digestOf(payload);
  const key = createSecretKey(createHash('sha256').update(terminalId).digest());
  const sign = isSigned(document.type) ? signOf(key, lastDigest, state.lastSign) : null;
  const link = sign === null ? null : { terminalId, receiptSeq: seq, compactTime: time, fiscalSign: sign };
  return {
    kind: 'done',
    state: {
      ...{ receiptSeq: seq, lastDigest, lastSign: sign ?? state.lastSign },
      sale: document.type === 'sale' ? addSums(state.sale, sums) : state.sale,
      refund: document.type === 'refund' ? addSums(state.refund, sums) : state.refund,
      shift: shiftAfter(shift, document.type, sums),
    },
    value: {
      success: true,
      receipt: {
        ...{ terminalId, receiptSeq: seq, transactionTime: nowMs },
        ...(link && { fiscalSign: link.fiscalSign, qrUrl: buildVerificationLink(TEST_CHECK, link) }),
      },
      receiptHtml: '',
      ofdSent: true,
      recordedFields: recordedFields(parseDocument(payload)),
      shiftNumber: shift.number,
    },
  };
}

/**
 * An emulated register keeps no documents of which a refund could be a part (part-of-sale.ts). Its only caller is a gateway, whose refunds
 * hold what their sale held: what their VAT is more than what is left is the rounding of parts.
 */
function sumsOf({ type, cashTiyin, cardTiyin, vatTiyin }: FiscalDocument, { sale, refund }: EmulatedState): Sums {
  const vat = type === 'refund' ? Math.min(vatTiyin, sale.vat - refund.vat) : vatTiyin;
  return { cash: cashTiyin, card: cardTiyin, vat };
}

function isSigned(type: ReceiptType): boolean {
  return type === 'sale' || type === 'refund';
}

function shiftAfter(shift: Shift, type: ReceiptType, sums: Sums): Shift {
  const counted = { ...shift, documents: shift.documents + 1 };
  if (type === 'sale') return { ...counted, saleCount: shift.saleCount + 1, sale: addSums(shift.sale, sums) };
  if (type === 'refund') return { ...counted, refundCount: shift.refundCount + 1, refund: addSums(shift.refund, sums) };
  return counted;
}
