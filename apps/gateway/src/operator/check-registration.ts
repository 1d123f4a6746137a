import {
  parseTashkentCompact,
  parseVerificationLink,
  type Baseline,
  type Calibration,
  type CounterReading,
  type ReceiptType,
  type VerificationLink,
} from '#fiscal-domain';
import type { NamedRegistration } from '#ledger';
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
  /** Named by the person, and another merchant's. */
  foreignTerminals?: readonly string[];
  /**
   * The receipt is older than a restore: the document may be older than this attempt, and may stand in a module of which the copy
   * that was put back knows nothing.
   */
  isFromCopy?: boolean;
  /** Of earlier attempts that ended without proof: the document may be one of theirs. */
  earlierBaselines?: readonly Baseline[];
  startedAt: Date;
}

/** A registration that contradicts nothing we know. */
export type CheckedRegistration = NamedRegistration;

export type RegistrationCheck =
  | { kind: 'consistent'; registration: CheckedRegistration }
  | { kind: 'refused'; faults: ProblemError[] };

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
  const faults = [
    ...signFaults(claim, evidence.receiptType),
    ...terminalFaults(claim, link),
    ...timeFaults(claim, link, nowMs),
  ];
  const own = ownTerminals(evidence);
  const terminalId = link?.terminalId ?? claim.terminalId ?? own[0] ?? null;
  if (terminalId === null) {
    const detail = 'the terminal of this register is not known; terminal_id names it';
    faults.push({ pointer: '/receipt_seq', code: 'invalid_value', detail });
  } else {
    const strange = strangeTerminal(terminalId, own, evidence);
    const pointer = link === null ? '/terminal_id' : '/verification_url';
    if (strange !== null) faults.push({ pointer, code: 'contradicts_reading', detail: strange });
    else faults.push(...sequenceFaults(claim.receiptSeq, terminalId, evidence));
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

/** The terminals by which the attempt's own register is known, the likeliest first. */
export function ownTerminals({
  baseline,
  reading,
  deviceTerminalId,
}: Pick<AttemptEvidence, 'baseline' | 'reading' | 'deviceTerminalId'>): string[] {
  return [baseline.terminalId, reading?.terminalId ?? null, deviceTerminalId].filter((id) => id !== null);
}

/** What speaks against the terminal, or null. Of a register that is not known by any, it may be each that is not another merchant's. */
function strangeTerminal(terminalId: string, own: readonly string[], evidence: AttemptEvidence): string | null {
  const { otherTerminals = [], foreignTerminals = [], isFromCopy = false } = evidence;
  const terminals = [...new Set([...own, ...otherTerminals])];
  if (terminals.includes(terminalId)) return null;
  if (foreignTerminals.includes(terminalId)) return `terminal ${terminalId} is not this merchant's`;
  if ((isFromCopy ? terminals : own).length === 0) return null;
  return `terminal ${terminalId} is not this register's (${terminals.join(', ')})${isFromCopy ? FORGOTTEN_TERMINAL : ''}`;
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

function terminalFaults({ terminalId }: RegistrationClaim, link: VerificationLink | null): ProblemError[] {
  if (link === null || terminalId === null || link.terminalId === terminalId) return [];
  const detail = `the link names terminal ${link.terminalId}`;
  return [{ pointer: '/terminal_id', code: 'contradicts_link', detail }];
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

/** Above the baselines of all that may have sent it, and not above what the register itself had counted up to. */
function sequenceFaults(receiptSeq: number, terminalId: string, evidence: AttemptEvidence): ProblemError[] {
  const { baseline, reading, calibration, isFromCopy = false, earlierBaselines = [] } = evidence;
  const fault = (detail: string): ProblemError[] => [{ pointer: '/receipt_seq', code: 'contradicts_reading', detail }];
  const before = isFromCopy
    ? 0
    : Math.min(...[baseline, ...earlierBaselines].map((one) => lastBefore(one, terminalId, calibration)));
  if (receiptSeq <= before) return fault(`sequence ${receiptSeq} is not above ${before}, the last one before it`);
  if (reading !== null && reading.terminalId === terminalId) {
    const last = documentOf(reading.sequence, { calibration, slack: UNKNOWN_OFFSET });
    if (receiptSeq > last) return fault(`sequence ${receiptSeq} is above ${last}, the last one when it was read`);
  }
  return [];
}

/** The module's last document before the attempt; 0: this attempt's baseline says nothing of it. */
function lastBefore(
  { terminalId: known, sequence, reading }: Baseline,
  terminalId: string,
  calibration: Calibration | null,
): number {
  if (known !== terminalId) return 0;
  const read = reading === null ? 0 : documentOf(reading.sequence, { calibration, slack: -UNKNOWN_OFFSET });
  return Math.max(sequence ?? 0, read);
}

/** The document that a reported sequence means; uncalibrated, the furthest that it may mean. */
function documentOf(
  reported: number,
  { calibration, slack }: { calibration: Calibration | null; slack: number },
): number {
  return calibration === null ? reported + slack : reported - calibration.sequenceOffset;
}
