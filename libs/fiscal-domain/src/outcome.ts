/**
 * What an attempt's answer means: the decision table (docs/architecture.md, "The lane"), as pure functions.
 * The default of anything odd is "unclear": never success, never failure.
 */
import { knownFiscalFields, type FiscalField } from './fiscal-fields.js';
import type { FmInfo, LocalStatus, SaleResponse } from './local-api.js';

/** Accumulated lifetime sums of a fiscal module, tiyin, as GET /fm/info reports them. */
export interface FiscalSums {
  saleCash: number;
  saleCard: number;
  refundCash: number;
  refundCard: number;
  saleVat: number;
  refundVat: number;
}

/** GET /fm/info, as far as only registrations move it. */
export interface CounterReading {
  terminalId: string;
  /** `currentReceiptSeq` as reported; which document it means is calibrated, never assumed (counter-proof.ts). */
  sequence: number;
  sums: FiscalSums;
}

/** The register's state just before an attempt. `null`: not known yet. */
export interface Baseline {
  terminalId: string | null;
  /** Set only on registers with the key and journal extensions. */
  journalId: string | null;
  /** Sequence of the last document that an answer named. */
  sequence: number | null;
  /** Only taken on registers without extensions. */
  reading: CounterReading | null;
  /** Only of registers with extensions, and of their lanes: the last document of ours there. */
  own?: OwnDocument;
}

/** What a copy of the register that was put back does not have, whatever was sold on it since. */
export interface OwnDocument {
  receiptSeq: number;
  /** By the register's clock, to the millisecond: another document with this number has another one. */
  transactionTimeMs: number;
}

/** An answer to POST /receipts as the client of the local API classifies it. */
export type RegisterAnswer =
  /** Not one byte left this process. */
  | { kind: 'not_sent'; reason: string }
  | { kind: 'registered'; httpStatus: number; response: SaleResponse }
  | { kind: 'refused'; httpStatus: number; code: string; message: string; rule?: string; details?: unknown }
  /** Timeout, reset, unreadable: the register may or may not have the document. */
  | { kind: 'unclear'; reason: string; httpStatus?: number; excerpt?: string };

export interface Registration {
  terminalId: string;
  receiptSeq: number;
  /** Absent for advance and credit. */
  fiscalSign: string | null;
  verificationUrl: string | null;
  /** Register's clock, ms since 1970. */
  transactionTimeMs: number;
  ofdSent: boolean;
  ofdError: string | null;
  /** What beyond the specification the document holds, by the register's own word. */
  recordedFields: readonly FiscalField[];
  /** Null where the register does not say. */
  shiftNumber: number | null;
}

export interface Rejection {
  code: string;
  rule: string | null;
  detail: string;
  /** From 1, as on the receipt; null when the code speaks of the whole document. */
  line: number | null;
}

export type BlockedState = 'blocked' | 'expired';

export type Outcome =
  /** `foreignSales`: the sequence jumped, another program sells there. */
  | { kind: 'registered'; registration: Registration; foreignSales: boolean }
  | { kind: 'rejected'; rejection: Rejection }
  /** The register refuses until something about itself changes; the receipt waits. */
  | { kind: 'device_refused'; state: BlockedState; reason: string }
  | { kind: 'shift_closed' }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'unclear'; reason: string };

/** E-codes that speak of the document; E-016 speaks of the register's VAT profile. */
const DOCUMENT_CODES = new Set([
  ...['E-003', 'E-004', 'E-005', 'E-006', 'E-007', 'E-008', 'E-009', 'E-010', 'E-011', 'E-012', 'E-013', 'E-014'],
  ...['E-015', 'E-017', 'E-018'],
]);
const DEVICE_CODES = new Set(['E-001', 'E-016', 'F-001', 'F-003', 'F-005', 'S-001', 'S-002', 'S-003']);
/** A body of this size is taken at no time: waiting would hold up every receipt behind it. */
const TOO_LARGE_STATUS = 413;

/** What an answer to the first sending of an attempt means. */
export function decideAnswer(attempt: { baseline: Baseline; isRefund: boolean }, answer: RegisterAnswer): Outcome {
  switch (answer.kind) {
    case 'not_sent':
      return { kind: 'not_sent', reason: answer.reason };
    case 'unclear':
      // A rejection counts where the counters confirm it; where there are keys, the repetition under the same key decides.
      return isTooLarge(answer) && attempt.baseline.journalId === null
        ? { kind: 'rejected', rejection: tooLarge() }
        : { kind: 'unclear', reason: answer.reason };
    case 'refused':
      return decideRefusal(answer, attempt.isRefund);
    case 'registered':
      return decideRegistration(attempt.baseline, answer.response);
  }
}

/** A definitive refusal by its code (§5.4); a code that is not in the table proves nothing. */
export function decideRefusal(
  refused: { httpStatus?: number; code: string; message: string; rule?: string; details?: unknown },
  isRefund: boolean,
): Outcome {
  const { code, message } = refused;
  if (DOCUMENT_CODES.has(code) || isOfDocument(code, refused.details, isRefund)) {
    const rejection = { code, rule: refused.rule ?? null, detail: message, line: lineOf(refused.details) };
    return { kind: 'rejected', rejection };
  }
  // S-003 for a body that is empty or malformed is a fault of ours or of the register; for one that is too large it is this document's.
  if (code === 'S-003' && refused.httpStatus === TOO_LARGE_STATUS) return { kind: 'rejected', rejection: tooLarge() };
  if (code === 'F-002') return { kind: 'shift_closed' };
  if (code === 'E-002') return { kind: 'device_refused', state: 'expired', reason: `${code}: ${message}` };
  if (DEVICE_CODES.has(code)) return { kind: 'device_refused', state: 'blocked', reason: `${code}: ${message}` };
  return { kind: 'unclear', reason: `code ${code}: ${message}` };
}

/**
 * A success counts only from the expected terminal and with a sequence above the last known one. Another terminal, or a
 * sequence that was seen before, is a register that lies or was replaced: unclear, so that identity is checked first.
 */
function decideRegistration(baseline: Baseline, response: SaleResponse): Outcome {
  const { terminalId, receiptSeq } = response.receipt;
  if (baseline.terminalId !== null && terminalId !== baseline.terminalId) {
    return { kind: 'unclear', reason: `answered by terminal ${terminalId} instead of ${baseline.terminalId}` };
  }
  if (baseline.sequence !== null && receiptSeq <= baseline.sequence) {
    return { kind: 'unclear', reason: `sequence ${receiptSeq} is not above ${baseline.sequence}` };
  }
  const foreignSales = baseline.sequence !== null && receiptSeq > baseline.sequence + 1;
  return { kind: 'registered', registration: registrationOf(response), foreignSales };
}

export type RepeatOutcome =
  | { kind: 'registered'; registration: Registration; evidence: 'journal' }
  /** Counts only when it is repeated after the settle time: the first request may still be asleep on its way. */
  | { kind: 'refused'; outcome: Outcome }
  | { kind: 'shift_closed' }
  | { kind: 'conflict'; reason: string }
  | { kind: 'unproven'; reason: string };

/**
 * What the repetition of the same bytes under the same key means (§5.5, registers with extensions, asked for their
 * identity just before). The answer carries the stored registration or the one made just now.
 */
export function decideRepeat(
  attempt: { baseline: Baseline; isRefund: boolean },
  answer: RegisterAnswer,
): RepeatOutcome {
  switch (answer.kind) {
    case 'not_sent':
      return { kind: 'unproven', reason: answer.reason };
    case 'unclear':
      return isTooLarge(answer)
        ? { kind: 'refused', outcome: { kind: 'rejected', rejection: tooLarge() } }
        : { kind: 'unproven', reason: answer.reason };
    case 'registered':
      return decideStored(attempt.baseline, answer.response);
    case 'refused': {
      if (answer.code === 'S-005') return { kind: 'conflict', reason: `${answer.code}: ${answer.message}` };
      const outcome = decideRefusal(answer, attempt.isRefund);
      if (outcome.kind === 'shift_closed') return { kind: 'shift_closed' };
      if (outcome.kind === 'unclear') return { kind: 'unproven', reason: outcome.reason };
      return { kind: 'refused', outcome };
    }
  }
}

/**
 * The sequence may lie below the attempt's baseline: an earlier attempt of the receipt was parked, its request woke up
 * later, and an operator sent the receipt again. A sequence that another receipt holds is caught where it is recorded.
 */
function decideStored(baseline: Baseline, response: SaleResponse): RepeatOutcome {
  const { terminalId } = response.receipt;
  return baseline.terminalId === null || terminalId === baseline.terminalId
    ? { kind: 'registered', registration: registrationOf(response), evidence: 'journal' }
    : { kind: 'unproven', reason: `answered by terminal ${terminalId} instead of ${baseline.terminalId}` };
}

/**
 * Whether what stands beside a closed attempt proves that the register does not have its document: not one byte left, the
 * register refused this very request, or its counters had not moved. A refused repetition does not (its first request may
 * have slept on), nor does a person's word, which on a register with keys relies on them. libs/database unproven-attempt.ts
 * says the same in SQL.
 */
export function provesAbsence(outcome: Readonly<Record<string, unknown>> | null): boolean {
  if (outcome === null || 'resolution' in outcome) return false;
  const answer = kindIn(outcome['answer']);
  return answer === 'not_sent' || answer === 'refused' || kindIn(outcome['proof']) === 'not_registered';
}

export type Identity = { kind: 'same' } | { kind: 'replaced'; reason: string };

/**
 * Whether the register that answers is the one that we knew (§5.1): another terminal, another journal, fewer documents or
 * smaller lifetime sums than it had, or lost extensions mean a replaced or restored fiscal module, and nothing that it says
 * is proof.
 */
export function checkIdentity(known: Baseline, status: LocalStatus, info: FmInfo): Identity {
  if (known.terminalId !== null && info.terminalId !== known.terminalId) {
    return { kind: 'replaced', reason: `terminal ${info.terminalId} instead of ${known.terminalId}` };
  }
  if (known.journalId !== null && status.journalId !== known.journalId) {
    return { kind: 'replaced', reason: `journal ${status.journalId ?? '(none)'} instead of ${known.journalId}` };
  }
  if (known.journalId !== null && known.sequence !== null && info.currentReceiptSeq < known.sequence) {
    return { kind: 'replaced', reason: `sequence ${info.currentReceiptSeq} below the known ${known.sequence}` };
  }
  // A foreign register may count from another document: only its own earlier reading bounds it.
  const lost = known.journalId === null && known.reading !== null ? whatWasLost(known.reading, readingOf(info)) : null;
  return lost === null ? { kind: 'same' } : { kind: 'replaced', reason: lost };
}

/**
 * Whether the register still has our last document. Its sequence alone does not say so: on a copy that was put back others may have sold until it
 * caught up, and its journal has the name that it had.
 */
export function checkOwn({ receiptSeq, transactionTimeMs }: OwnDocument, there: SaleResponse | null): Identity {
  if (there === null) return { kind: 'replaced', reason: `document ${receiptSeq} of ours is not there any more` };
  if (there.receipt.transactionTime === transactionTimeMs) return { kind: 'same' };
  return { kind: 'replaced', reason: `document ${receiptSeq} is another one than ours was` };
}

/**
 * What a module cannot have lost by itself, in words; null when nothing is missing. Its sequence and its lifetime sums only
 * grow: a copy that was put back shows by its sums even when others have sold on it until its sequence caught up.
 */
export function whatWasLost(before: CounterReading, now: CounterReading): string | null {
  if (now.sequence < before.sequence) return `sequence ${now.sequence} below the known ${before.sequence}`;
  const shrunk = (Object.keys(before.sums) as (keyof FiscalSums)[]).find((key) => now.sums[key] < before.sums[key]);
  return shrunk === undefined ? null : `${shrunk} ${now.sums[shrunk]} below the known ${before.sums[shrunk]}`;
}

export function hasExtensions(status: LocalStatus): boolean {
  return announcesExtensions(status.capabilities) && status.journalId !== undefined;
}

/** Whether a register says that it knows keys and can be asked for them. */
export function announcesExtensions(capabilities: readonly string[] | null = []): boolean {
  return capabilities?.includes('idempotency') === true && capabilities.includes('journal');
}

/** Sequence and lifetime sums of GET /fm/info; nothing else of it moves only by registrations. */
export function readingOf(info: FmInfo): CounterReading {
  return { terminalId: info.terminalId, sequence: info.currentReceiptSeq, sums: sumsOf(info) };
}

function sumsOf(info: FmInfo): FiscalSums {
  return {
    saleCash: info.AccumulatedSaleCash,
    saleCard: info.AccumulatedSaleCard,
    refundCash: info.AccumulatedRefundCash,
    refundCard: info.AccumulatedRefundCard,
    saleVat: info.AccumulatedSaleVAT,
    refundVat: info.AccumulatedRefundVAT,
  };
}

function registrationOf(response: SaleResponse): Registration {
  const { receipt, ofdSent, ofdError, recordedFields = [], shiftNumber = null } = response;
  return {
    terminalId: receipt.terminalId,
    receiptSeq: receipt.receiptSeq,
    fiscalSign: receipt.fiscalSign ?? null,
    verificationUrl: receipt.qrUrl ?? null,
    transactionTimeMs: receipt.transactionTime,
    ofdSent,
    ofdError: ofdSent ? null : (ofdError ?? null),
    recordedFields: knownFiscalFields(recordedFields),
    shiftNumber,
  };
}

function kindIn(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'kind' in value ? value.kind : null;
}

/**
 * What F-003 and F-005 speak of, by the module's own reason. No other state of the module would change what is wrong with the paid sum;
 * lifetime sums never shrink, so what they have no room for would hold up every smaller receipt behind it for ever. The next shift takes
 * what a full one does not. Without a known reason F-003 is the module, F-005 the refund or the module.
 */
function isOfDocument(code: string, details: unknown, isRefund: boolean): boolean {
  const reason = typeof details === 'object' && details !== null && 'reason' in details ? details.reason : null;
  if (code === 'F-003') return reason === 'sums_full';
  if (code !== 'F-005') return false;
  return reason === 'payment_mismatch' || (isRefund && reason !== 'shift_full');
}

/** A server's own word, in whatever form: it has read no document. Beside a success it contradicts itself. */
function isTooLarge({ httpStatus, reason }: Extract<RegisterAnswer, { kind: 'unclear' }>): boolean {
  return httpStatus === TOO_LARGE_STATUS && reason !== 'contradiction';
}

function tooLarge(): Rejection {
  const detail = 'The register takes no request of this size (413); nothing was registered.';
  return { code: 'payload_too_large', rule: null, detail, line: null };
}

function lineOf(details: unknown): number | null {
  if (typeof details !== 'object' || details === null || !('itemIndex' in details)) return null;
  return Number.isSafeInteger(details.itemIndex) ? Number(details.itemIndex) + 1 : null;
}
