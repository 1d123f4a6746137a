import {
  parseTashkentCompact,
  parseVerificationLink,
  type Baseline,
  type Calibration,
  type CounterReading,
  type ReceiptType,
  type VerificationLink,
} from '#fiscal-domain';
import type { ProblemError } from '#problems';
import type { RegistrationClaim } from './decision.js';

/** What is on record about an attempt, against which a person's word is held. */
export interface AttemptEvidence {
  receiptType: ReceiptType;
  baseline: Baseline;
  /** The counters as they were read afterwards; null = they were not. */
  reading: CounterReading | null;
  /** Null: which document a reading of the sequence means is not known. */
  calibration: Calibration | null;
  /** Of the module that is in the device now. */
  deviceTerminalId: string | null;
  /** Of other registers that may have it after a restore. */
  otherTerminals?: readonly string[];
  /** A module may have stood there of which a copy of the database that was put back knows nothing. */
  mayBeForgotten?: boolean;
  /** The document may be older than this attempt: its baseline bounds nothing. */
  mayBeEarlier?: boolean;
  startedAt: Date;
}

/** A registration that contradicts nothing we know. */
export interface CheckedRegistration {
  terminalId: string;
  receiptSeq: number;
  fiscalSign: string | null;
  verificationUrl: string | null;
  registeredAt: Date;
}

export type RegistrationCheck =
  { kind: 'consistent'; registration: CheckedRegistration } | { kind: 'refused'; faults: ProblemError[] };

/** How far a time that a person typed may be from the link's, which has seconds. */
const TYPED_TIME_TOLERANCE_MS = 60_000;
/** Registers' clocks are off; a registration a day from now is a slip. */
const FUTURE_TOLERANCE_MS = 86_400_000;
const FORGOTTEN_TERMINAL = '; if it stood there after the copy that was put back, confirm_terminal answers for it';
/** An uncalibrated register may count from the document before or after. */
const UNKNOWN_OFFSET = 1;

/**
 * Holds a person's word about a registration against the link, the attempt's baseline and the reading after it.
 * All faults at once; pointers begin with `at` (`''` or `/surplus`).
 */
export function checkRegistration(
  claim: RegistrationClaim,
  evidence: AttemptEvidence,
  { nowMs, at = '' }: { nowMs: number; at?: string },
): RegistrationCheck {
  const link = claim.verificationUrl === null ? null : parseVerificationLink(claim.verificationUrl);
  const faults = [...signFaults(claim, evidence.receiptType), ...timeFaults(claim, link, nowMs)];
  const { baseline, reading, deviceTerminalId, otherTerminals = [], mayBeForgotten = false } = evidence;
  const own = [baseline.terminalId, reading?.terminalId ?? null, deviceTerminalId].filter((id) => id !== null);
  const terminals = [...own, ...otherTerminals];
  const terminalId = link?.terminalId ?? terminals[0] ?? null;
  if (terminalId === null) {
    faults.push({
      pointer: '/receipt_seq',
      code: 'invalid_value',
      detail: 'the terminal of this register is not known',
    });
  } else if (terminals.length > 0 && !terminals.includes(terminalId)) {
    const forgotten = mayBeForgotten ? FORGOTTEN_TERMINAL : '';
    const detail = `terminal ${terminalId} is not this register's (${[...new Set(terminals)].join(', ')})${forgotten}`;
    faults.push({ pointer: '/verification_url', code: 'contradicts_reading', detail });
  } else {
    faults.push(...sequenceFaults(claim.receiptSeq, terminalId, evidence));
  }
  if (faults.length > 0 || terminalId === null) {
    return { kind: 'refused', faults: faults.map((fault) => ({ ...fault, pointer: at + fault.pointer })) };
  }
  const { receiptSeq, fiscalSign, verificationUrl } = claim;
  const registeredAt = linkTime(link) ?? claim.registeredAt ?? evidence.startedAt;
  return {
    kind: 'consistent',
    registration: { terminalId, receiptSeq, fiscalSign, verificationUrl, registeredAt },
  };
}

/** What sign, link and sequence say must be one thing. Also used to complete a sign. */
export function linkFaults(claim: { receiptSeq: number; fiscalSign: string; verificationUrl: string }): ProblemError[] {
  const link = parseVerificationLink(claim.verificationUrl);
  const pointer = '/verification_url';
  if (link === null) {
    return [{ pointer, code: 'invalid_format', detail: 'verification_url must carry t, r, c and s, each once' }];
  }
  const faults: ProblemError[] = [];
  if (link.receiptSeq !== claim.receiptSeq) {
    const detail = `the link speaks of receipt ${link.receiptSeq} instead of ${claim.receiptSeq}`;
    faults.push({ pointer, code: 'contradicts_link', detail });
  }
  if (link.fiscalSign !== claim.fiscalSign) {
    faults.push({ pointer, code: 'contradicts_link', detail: 'the link carries another fiscal sign' });
  }
  return faults;
}

/** The moment in a link's `c`. */
export function linkTime(link: VerificationLink | null): Date | null {
  const ms = link === null ? null : parseTashkentCompact(link.compactTime);
  return ms === null ? null : new Date(ms);
}

function signFaults(
  { receiptSeq, fiscalSign, verificationUrl }: RegistrationClaim,
  receiptType: ReceiptType,
): ProblemError[] {
  const fields = [
    ['fiscal_sign', fiscalSign],
    ['verification_url', verificationUrl],
  ] as const;
  if (receiptType === 'advance' || receiptType === 'credit') {
    return fields
      .filter(([, value]) => value !== null)
      .map(([field]) => ({
        pointer: `/${field}`,
        code: 'unknown_field',
        detail: `a receipt of type ${receiptType} has no ${field}`,
      }));
  }
  const missing = fields.filter(([, value]) => value === null);
  if (missing.length > 0 || fiscalSign === null || verificationUrl === null) {
    return missing.map(([field]) => ({
      pointer: `/${field}`,
      code: 'required',
      detail: `${field} is required for a ${receiptType}`,
    }));
  }
  return linkFaults({ receiptSeq, fiscalSign, verificationUrl });
}

function timeFaults({ registeredAt }: RegistrationClaim, link: VerificationLink | null, nowMs: number): ProblemError[] {
  const linked = linkTime(link);
  const moment = linked ?? registeredAt;
  if (moment !== null && moment.getTime() > nowMs + FUTURE_TOLERANCE_MS) {
    const pointer = linked === null ? '/registered_at' : '/verification_url';
    return [{ pointer, code: 'out_of_range', detail: 'the registration lies in the future' }];
  }
  if (linked === null || registeredAt === null) return [];
  if (Math.abs(linked.getTime() - registeredAt.getTime()) <= TYPED_TIME_TOLERANCE_MS) return [];
  const detail = `the link says ${linked.toISOString()}`;
  return [{ pointer: '/registered_at', code: 'contradicts_link', detail }];
}

/** Above the baseline, and not above what the register itself had counted up to. */
function sequenceFaults(receiptSeq: number, terminalId: string, evidence: AttemptEvidence): ProblemError[] {
  const { baseline, reading, calibration } = evidence;
  const fault = (detail: string): ProblemError[] => [{ pointer: '/receipt_seq', code: 'contradicts_reading', detail }];
  const documentOf = (reported: number, slack: number): number =>
    calibration === null ? reported + slack : reported - calibration.sequenceOffset;
  if (baseline.terminalId === terminalId && evidence.mayBeEarlier !== true) {
    const read = baseline.reading === null ? null : documentOf(baseline.reading.sequence, -UNKNOWN_OFFSET);
    const before = Math.max(baseline.sequence ?? 0, read ?? 0);
    if (receiptSeq <= before) return fault(`sequence ${receiptSeq} is not above ${before}, the last one before it`);
  }
  if (reading !== null && reading.terminalId === terminalId) {
    const last = documentOf(reading.sequence, UNKNOWN_OFFSET);
    if (receiptSeq > last) return fault(`sequence ${receiptSeq} is above ${last}, the last one when it was read`);
  }
  return [];
}
