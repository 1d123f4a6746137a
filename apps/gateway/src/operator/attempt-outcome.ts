import { describeDifference, isObject, type Baseline, type CounterReading, type FiscalSums } from '#fiscal-domain';

/** What the relay wrote beside an attempt: known fields where they are there and sane, nothing is assumed of others. */
type Outcome = Record<string, unknown> | null;

const SUM_KEYS = ['saleCash', 'saleCard', 'refundCash', 'refundCard', 'saleVat', 'refundVat'] as const;

/** The counters as they were read after the attempt. */
export function readingIn(outcome: Outcome): CounterReading | null {
  const reading = objectIn(outcome, 'reading');
  const sums = objectIn(reading, 'sums');
  if (!reading || !sums) return null;
  const { terminalId, sequence } = reading;
  if (typeof terminalId !== 'string' || !Number.isSafeInteger(sequence)) return null;
  if (!SUM_KEYS.every((key) => Number.isSafeInteger(sums[key]))) return null;
  return { terminalId, sequence: Number(sequence), sums: sums as unknown as FiscalSums };
}

/** Baseline and reading compared in words; null when there is no pair to compare. */
export function differenceIn(outcome: Outcome, baseline: Baseline): string | null {
  const recorded = textIn(outcome, 'difference') ?? textIn(objectIn(outcome, 'proof'), 'difference');
  if (recorded !== null) return recorded;
  const reading = readingIn(outcome);
  return reading && baseline.reading ? describeDifference(baseline.reading, reading, false) : null;
}

/** Why the attempt is where it is, in words. */
export function explanationIn(outcome: Outcome): string | null {
  const late = foundLateIn(outcome);
  if (late.length > 0) return `its receipt was ended; its register has it all the same, ${placesOf(late)}`;
  const words = [textIn(outcome, 'reason'), textIn(outcome, 'why')].filter((text) => text !== null);
  return words.length === 0 ? null : words.join('; ');
}

/** A document that a register turned out to have after its receipt was ended. */
export interface FoundLate {
  terminalId: string;
  receiptSeq: number;
  /** Null: its register has not said it. */
  fiscalSign: string | null;
  /** The register that has answered. */
  deviceId: string;
}

/** Of which no person has said yet what becomes of them, the first that came first. */
export function foundLateIn(outcome: Outcome): FoundLate[] {
  const found = outcome?.['found_late'];
  if (!Array.isArray(found)) return [];
  return found.map((one: Outcome) => ({
    terminalId: textIn(one, 'terminal_id') ?? '',
    receiptSeq: Number(one?.['receipt_seq']),
    fiscalSign: textIn(one, 'fiscal_sign'),
    deviceId: textIn(one, 'device_id') ?? '',
  }));
}

export function placesOf(documents: readonly FoundLate[]): string {
  return documents
    .map(({ receiptSeq, terminalId }) => `as receipt ${receiptSeq} of terminal ${terminalId}`)
    .join(' and ');
}

function objectIn(value: Outcome, key: string): Record<string, unknown> | null {
  const found = value?.[key];
  return isObject(found) ? found : null;
}

function textIn(value: Outcome, key: string): string | null {
  const found = value?.[key];
  return typeof found === 'string' ? found : null;
}
