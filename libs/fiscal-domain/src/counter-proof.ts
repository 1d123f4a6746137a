/**
 * What a fiscal module's counters prove about an attempt whose answer was lost (docs/architecture.md, registers that know no
 * idempotency key): a pure function of two readings, the attempt and what is known of the device.
 */
import type { CounterReading, FiscalSums } from './outcome.js';
import type { ReceiptDocument } from './receipt.js';
import { vatContained } from './vat.js';

/**
 * How a device's counters are to be read: learnt from a registration that is known (`calibrate`), never assumed.
 * `sequenceOffset` = reported currentReceiptSeq − sequence of the last document; `tiyinPerUnit` = unit of its sums.
 */
export interface Calibration {
  sequenceOffset: number;
  tiyinPerUnit: number;
}

/** What one document adds to the module's sums, tiyin. `vatToleranceTiyin`: 1 per line. */
export interface ExpectedGrowth {
  sums: FiscalSums;
  vatToleranceTiyin: number;
}

export type CounterProof =
  /** Nothing moved over the settle time: the register does not have the document. */
  | { kind: 'not_registered' }
  /** Exactly this document was added: it has the document, under this sequence. */
  | { kind: 'registered'; terminalId: string; receiptSeq: number }
  /** The two readings differ: a sale is under way there. */
  | { kind: 'moving' }
  /** Moved, and not provably by this document alone. */
  | { kind: 'unproven'; difference: string };

const NO_SUMS: FiscalSums = { saleCash: 0, saleCard: 0, refundCash: 0, refundCard: 0, saleVat: 0, refundVat: 0 };
/** Units in which modules have been seen or may be expected to count: tiyin, sum. */
const UNITS = [1, 100] as const;
const OFFSETS = [0, 1, -1] as const;

export function sameReading(a: CounterReading, b: CounterReading): boolean {
  return a.terminalId === b.terminalId && a.sequence === b.sequence && sameSums(a.sums, b.sums);
}

/** Null: it is not known whether advances and credits count; such a document can only be proven absent. */
export function growthOf(document: ReceiptDocument): ExpectedGrowth | null {
  if (document.type !== 'sale' && document.type !== 'refund') return null;
  const { cashTiyin: cash, cardTiyin: card } = document.payment;
  const vat = document.lines.reduce((sum, line) => sum + vatContained(line.totalTiyin, line.vatPercent), 0);
  const sums: FiscalSums =
    document.type === 'sale'
      ? { ...NO_SUMS, saleCash: cash, saleCard: card, saleVat: vat }
      : { ...NO_SUMS, refundCash: cash, refundCard: card, refundVat: vat };
  return { sums, vatToleranceTiyin: document.lines.length };
}

/**
 * Compares two equal readings, taken after the settle time, with the attempt's baseline.
 * A match counts only on a calibrated device on which only the gateway sells: elsewhere a cashier's sale of equal sums
 * would pass for ours.
 */
export function proveByCounters(
  attempt: { baseline: CounterReading; growth: ExpectedGrowth | null },
  readings: { first: CounterReading; second: CounterReading },
  device: { calibration: Calibration | null; exclusive: boolean },
): CounterProof {
  const { baseline, growth } = attempt;
  const { first, second: now } = readings;
  if (!sameReading(first, now)) return { kind: 'moving' };
  if (sameReading(now, baseline)) return { kind: 'not_registered' };
  const { calibration } = device;
  const grewByOurs =
    growth !== null &&
    calibration !== null &&
    now.sequence === baseline.sequence + 1 &&
    grewBy(baseline.sums, now.sums, growth, calibration.tiyinPerUnit);
  if (grewByOurs && device.exclusive && now.terminalId === baseline.terminalId) {
    return { kind: 'registered', terminalId: now.terminalId, receiptSeq: now.sequence - calibration.sequenceOffset };
  }
  return { kind: 'unproven', difference: describeDifference(baseline, now, grewByOurs) };
}

/**
 * Learns how to read a device from a registration that is known: readings before and after it, and its sequence.
 * Null when no reading of the counters explains it; then they prove nothing.
 */
export function calibrate(
  before: CounterReading,
  after: CounterReading,
  known: { receiptSeq: number; growth: ExpectedGrowth | null },
): Calibration | null {
  const { growth } = known;
  if (growth === null || after.sequence !== before.sequence + 1) return null;
  const sequenceOffset = OFFSETS.find((offset) => after.sequence === known.receiptSeq + offset);
  // A document of almost nothing fits every unit: it teaches none.
  const [tiyinPerUnit, ...others] = UNITS.filter((unit) => grewBy(before.sums, after.sums, growth, unit));
  if (sequenceOffset === undefined || tiyinPerUnit === undefined || others.length > 0) return null;
  return { sequenceOffset, tiyinPerUnit };
}

/** In words, for the operator who has to decide. */
export function describeDifference(baseline: CounterReading, now: CounterReading, grewByOurs: boolean): string {
  const documents = now.sequence - baseline.sequence;
  const moved = (Object.keys(NO_SUMS) as (keyof FiscalSums)[])
    .filter((key) => now.sums[key] !== baseline.sums[key])
    .map((key) => `${SUM_NAMES[key]} ${signed(now.sums[key] - baseline.sums[key])}`);
  const sums = moved.length === 0 ? 'no sum moved' : moved.join(', ');
  const verdict = grewByOurs
    ? '; equals this receipt, but others sell on this register too'
    : '; not this receipt alone';
  return `${signed(documents)} documents, ${sums}${verdict}`;
}

const SUM_NAMES: Readonly<Record<keyof FiscalSums, string>> = {
  saleCash: 'sales in cash',
  saleCard: 'sales by card',
  refundCash: 'refunds in cash',
  refundCard: 'refunds by card',
  saleVat: 'VAT of sales',
  refundVat: 'VAT of refunds',
};

function grewBy(before: FiscalSums, after: FiscalSums, growth: ExpectedGrowth, tiyinPerUnit: number): boolean {
  return (Object.keys(NO_SUMS) as (keyof FiscalSums)[]).every((key) => {
    const grown = BigInt(after[key] - before[key]) * BigInt(tiyinPerUnit);
    const off = grown - BigInt(growth.sums[key]);
    const isVat = key === 'saleVat' || key === 'refundVat';
    // A module that counts in whole sums rounds each document's share.
    const tolerance =
      BigInt(tiyinPerUnit - 1) + (isVat && growth.sums[key] !== 0 ? BigInt(growth.vatToleranceTiyin) : 0n);
    return off <= tolerance && -off <= tolerance;
  });
}

function sameSums(a: FiscalSums, b: FiscalSums): boolean {
  return (Object.keys(NO_SUMS) as (keyof FiscalSums)[]).every((key) => a[key] === b[key]);
}

function signed(value: number): string {
  return value > 0 ? `+${value}` : String(value);
}
