import type { KeyObject } from 'node:crypto';
import { tashkentCompact } from '#fiscal-domain';
import type { JournalEntry } from '../journal/journal.js';
import { readPayload } from '../journal/stored-payload.js';
import {
  addSums,
  digestOf,
  NO_DIGEST,
  NO_SUMS,
  type OfdDocument,
  type OfdZReport,
  sameSums,
  type Shift,
  signOf,
  type Sums,
  type ZReport,
} from '#fiscal-module';
import type { ModuleState } from './module-store.js';

/** Where the journal stops agreeing with itself or with the module's state. */
export interface ChainBreak {
  /** The first document that does not fit; `null` when all documents fit and only a total differs. */
  readonly receiptSeq: number | null;
  readonly reason: string;
}

interface Totals {
  documents: number;
  saleCount: number;
  sale: Sums;
  refundCount: number;
  refund: Sums;
}

interface Walk {
  seq: number;
  digest: string;
  sign: string;
  timeMs: number;
  lifetime: Totals;
  shifts: Map<number, Totals>;
}

/** What is verified against the documents. */
export interface ModuleRecords {
  readonly terminalId: string;
  readonly key: KeyObject;
  readonly state: ModuleState;
  readonly shifts: readonly (Shift & { zReport: ZReport | null })[];
  readonly unsentSeqs: Iterable<number>;
  readonly unsentShifts: readonly number[];
}

/** Recomputes every digest, sign and sum from the documents themselves. `null`: everything agrees. */
export function verifyChain(entries: Iterable<JournalEntry>, records: ModuleRecords): ChainBreak | null {
  const walk: Walk = { seq: 0, digest: NO_DIGEST, sign: '', timeMs: 0, lifetime: noTotals(), shifts: new Map() };
  for (const entry of entries) {
    const reason = followEntry(walk, entry, records);
    if (reason !== null) return { receiptSeq: entry.seq, reason };
  }
  return verifyState(walk, records) ?? verifyShifts(walk, records);
}

function followEntry(walk: Walk, entry: JournalEntry, records: ModuleRecords): string | null {
  if (entry.seq !== walk.seq + 1) return `document ${String(walk.seq + 1)} is missing`;
  if (digestOf(entry.payload) !== entry.digest) return 'the content does not match its digest';
  const read = readPayload(entry.payload);
  if (read === null) return 'the content is no document';
  // A value that is missing differs from what is compared with it.
  const document = read as OfdDocument;
  if (document.prev_digest !== walk.digest) return 'the digest of the document before it does not match';
  if (document.seq !== entry.seq || document.terminal_id !== records.terminalId) return 'it belongs elsewhere';
  if (document.time !== tashkentCompact(entry.timeMs)) return 'the time does not match the content';
  if (entry.timeMs < walk.timeMs) return 'the time runs backwards';
  const sign = isSigned(document.type) ? signOf(records.key, entry.digest, walk.sign) : null;
  if (entry.sign !== sign) return 'the fiscal sign does not match';
  walk.seq = entry.seq;
  walk.digest = entry.digest;
  walk.sign = sign ?? walk.sign;
  walk.timeMs = entry.timeMs;
  count(walk.lifetime, document);
  const shift = walk.shifts.get(document.shift) ?? noTotals();
  count(shift, document);
  walk.shifts.set(document.shift, shift);
  return null;
}

function verifyState(walk: Walk, { state, unsentSeqs }: ModuleRecords): ChainBreak | null {
  const broken = (reason: string): ChainBreak => ({ receiptSeq: null, reason });
  if (state.receiptSeq !== walk.seq) {
    return { receiptSeq: walk.seq + 1, reason: `the module counts ${String(state.receiptSeq)} documents` };
  }
  if (state.lastDigest !== walk.digest || state.lastSign !== walk.sign) return broken('the end of the chain differs');
  if (state.lastOperationMs < walk.timeMs) return broken('the time of the last operation is too early');
  if (!sameSums(state.sale, walk.lifetime.sale)) return broken('the lifetime sums of sales differ');
  if (!sameSums(state.refund, walk.lifetime.refund)) return broken('the lifetime sums of refunds differ');
  for (const seq of unsentSeqs) {
    if (seq > walk.seq) return broken(`the unsent document ${String(seq)} is not in the journal`);
  }
  return null;
}

function verifyShifts(walk: Walk, { terminalId, shifts, unsentShifts }: ModuleRecords): ChainBreak | null {
  const broken = (number: number, reason: string): ChainBreak => ({
    receiptSeq: null,
    reason: `shift ${String(number)}: ${reason}`,
  });
  let previous = NO_DIGEST;
  for (const [index, shift] of shifts.entries()) {
    const totals = walk.shifts.get(shift.number) ?? noTotals();
    walk.shifts.delete(shift.number);
    if (shift.number !== index + 1) return broken(index + 1, 'it is missing');
    if (!sameTotals(shift, totals)) return broken(shift.number, 'its totals differ from its documents');
    const reason = shift.zReport ? zReportFault(shift, shift.zReport, { terminalId, previous }) : null;
    if (reason !== null) return broken(shift.number, reason);
    if (shift.closedMs !== null && shift.zReport === null) return broken(shift.number, 'its Z-report is missing');
    previous = shift.zReport?.digest ?? previous;
  }
  const [unknown] = walk.shifts.keys();
  if (unknown !== undefined) return broken(unknown, 'it has documents but no record');
  const nothing = unsentShifts.find((number) => !shifts[number - 1]?.zReport);
  return nothing === undefined ? null : broken(nothing, 'it is unsent but has no Z-report');
}

/** A Z-report has no sign: what it says is compared with the shift, which was counted from the documents. */
function zReportFault(
  shift: Shift,
  { payload, digest }: ZReport,
  { terminalId, previous }: { terminalId: string; previous: string },
): string | null {
  if (digestOf(payload) !== digest) return 'its Z-report does not match its digest';
  const report: Partial<OfdZReport> = readPayload(payload) ?? {};
  if (report.prev_digest !== previous) return 'its Z-report does not name the one before it';
  if (report.terminal_id !== terminalId || report.seq !== shift.number) return 'its Z-report belongs elsewhere';
  const isTimely =
    report.open_time === tashkentCompact(shift.openedMs) && report.time === tashkentCompact(shift.closedMs ?? 0);
  if (!isTimely) return 'the times of its Z-report differ';
  const { cash, card, vat, documents, sale, refund } = report;
  if (!sale || !refund) return 'its Z-report says no sums';
  const isRight =
    documents === shift.documents &&
    sale.count === shift.saleCount &&
    refund.count === shift.refundCount &&
    sameSums(sale, shift.sale) &&
    sameSums(refund, shift.refund) &&
    cash === sale.cash - refund.cash &&
    card === sale.card - refund.card &&
    vat === sale.vat - refund.vat;
  return isRight ? null : 'its Z-report says other sums';
}

function count(totals: Totals, document: OfdDocument): void {
  const sums: Sums = { cash: document.cash, card: document.card, vat: document.vat };
  totals.documents += 1;
  if (document.type === 'sale') {
    totals.saleCount += 1;
    totals.sale = addSums(totals.sale, sums);
  }
  if (document.type === 'refund') {
    totals.refundCount += 1;
    totals.refund = addSums(totals.refund, sums);
  }
}

function sameTotals(left: Totals, right: Totals): boolean {
  return (
    left.documents === right.documents &&
    left.saleCount === right.saleCount &&
    left.refundCount === right.refundCount &&
    sameSums(left.sale, right.sale) &&
    sameSums(left.refund, right.refund)
  );
}

function noTotals(): Totals {
  return { documents: 0, saleCount: 0, sale: NO_SUMS, refundCount: 0, refund: NO_SUMS };
}

/** Advance and credit get a sequence number but neither sign nor link. */
export function isSigned(type: string): boolean {
  return type === 'sale' || type === 'refund';
}
