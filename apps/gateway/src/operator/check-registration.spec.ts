// Promise: what a person says of a registration is held against all that is on record, and no further.
import { tashkentCompact, type Baseline, type CounterReading } from '#fiscal-domain';
import { checkRegistration, type AttemptEvidence } from './check-registration.js';
import type { RegistrationClaim } from './decision.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const SIGN = '012345678901';

const reading = (sequence: number, terminalId = 'T1'): CounterReading => ({
  terminalId,
  sequence,
  sums: { saleCash: 0, saleCard: 0, refundCash: 0, refundCard: 0, saleVat: 0, refundVat: 0 },
});

function claim(receiptSeq: number, more: { terminalId?: string; atMs?: number; registeredAt?: Date } = {}) {
  const { terminalId = 'T1', atMs = NOW, registeredAt = null } = more;
  const verificationUrl = `https://ofd/check?t=${terminalId}&r=${receiptSeq}&c=${tashkentCompact(atMs)}&s=${SIGN}`;
  return { receiptSeq, fiscalSign: SIGN, verificationUrl, terminalId: null, registeredAt } satisfies RegistrationClaim;
}

const evidence = (more: Partial<AttemptEvidence> = {}): AttemptEvidence => ({
  receiptType: 'sale',
  baseline: { terminalId: 'T1', journalId: null, sequence: 10, reading: null },
  reading: null,
  calibration: null,
  deviceTerminalId: 'T1',
  startedAt: new Date(NOW - 60_000),
  ...more,
});

const baselineOf = (sequence: number): Baseline => ({ terminalId: 'T1', journalId: null, sequence, reading: null });

const codes = (claimed: RegistrationClaim, known: AttemptEvidence): string[] => {
  const check = checkRegistration(claimed, known, { nowMs: NOW });
  return check.kind === 'consistent' ? [] : check.faults.map(({ code }) => code);
};

/** Sequences 1–20 that are not refused. */
const allowed = (known: AttemptEvidence): number[] =>
  Array.from({ length: 20 }, (_, index) => index + 1).filter((seq) => codes(claim(seq), known).length === 0);

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

const unknownBefore = { terminalId: 'T1', journalId: null, sequence: null };

test.each<[string, Partial<AttemptEvidence>, number[]]>([
  ['above the last answer', {}, range(11, 20)],
  ['nothing known', { baseline: { ...unknownBefore, reading: null } }, range(1, 20)],
  ['up to the reading', { reading: reading(13), calibration: { sequenceOffset: 0, tiyinPerUnit: 1 } }, range(11, 13)],
  [
    'a reading that counts one more',
    { reading: reading(13), calibration: { sequenceOffset: 1, tiyinPerUnit: 1 } },
    range(11, 12),
  ],
  [
    'a reading that counts one less',
    { reading: reading(13), calibration: { sequenceOffset: -1, tiyinPerUnit: 1 } },
    range(11, 14),
  ],
  ['a reading not calibrated', { reading: reading(13) }, range(11, 14)],
  [
    'baseline by a reading',
    { baseline: { ...unknownBefore, reading: reading(5) }, calibration: { sequenceOffset: 1, tiyinPerUnit: 1 } },
    range(5, 20),
  ],
  ['baseline by a reading not calibrated', { baseline: { ...unknownBefore, reading: reading(5) } }, range(5, 20)],
  ['another module is in the device by now', { deviceTerminalId: 'T2' }, range(11, 20)],
  ['what an earlier attempt may have made', { earlierBaselines: [baselineOf(6), baselineOf(8)] }, range(7, 20)],
  [
    'an earlier attempt at another module',
    { earlierBaselines: [{ ...baselineOf(6), terminalId: 'T2' }] },
    range(1, 20),
  ],
  ['what was made after the copy that was put back', { isFromCopy: true }, range(1, 20)],
])('sequences: %s', (_what, more, expected) => {
  expect(allowed(evidence(more))).toEqual(expected);
});

test('a sleeper that woke on the new module counts from nothing; a strange terminal is refused', () => {
  expect(codes(claim(3, { terminalId: 'T2' }), evidence({ deviceTerminalId: 'T2', reading: reading(12) }))).toEqual([]);
  expect(codes(claim(3, { terminalId: 'T3' }), evidence({ deviceTerminalId: 'T2' }))).toEqual(['contradicts_reading']);
  const unread = { ...unknownBefore, terminalId: null, reading: null };
  expect(codes(claim(3, { terminalId: 'T9' }), evidence({ baseline: unread, deviceTerminalId: null }))).toEqual([]);
});

test('a terminal is named by its link, or for want of one by itself; both must say the same', () => {
  const advance = { receiptSeq: 11, fiscalSign: null, verificationUrl: null, terminalId: 'T2', registeredAt: null };
  const pointerOf = (claimed: RegistrationClaim, known: AttemptEvidence): string[] => {
    const check = checkRegistration(claimed, known, { nowMs: NOW });
    return check.kind === 'consistent' ? [check.registration.terminalId] : check.faults.map(({ pointer }) => pointer);
  };
  const known = evidence({ receiptType: 'advance', isFromCopy: true });
  expect(pointerOf(advance, known)).toEqual(['/terminal_id']);
  expect(pointerOf(advance, { ...known, otherTerminals: ['T2'] })).toEqual(['T2']);
  expect(pointerOf(claim(11, { terminalId: 'T2' }), evidence())).toEqual(['/verification_url']);
  expect(pointerOf({ ...claim(11), terminalId: 'T2' }, evidence())).toEqual(['/terminal_id']);
  expect(pointerOf({ ...claim(11), terminalId: 'T1' }, evidence())).toEqual(['T1']);
});

test('a terminal that may have been forgotten is confirmed; not one that is another merchant’s', () => {
  const said = (more: Partial<AttemptEvidence>): string => {
    const check = checkRegistration(claim(3, { terminalId: 'T9' }), evidence(more), { nowMs: NOW });
    return check.kind === 'consistent' ? check.kind : check.faults.map(({ detail }) => detail).join();
  };
  expect(said({ isFromCopy: true })).toContain('confirm_terminal');
  expect(said({})).not.toContain('confirm_terminal');
  expect(said({ isFromCopy: true, foreignTerminals: ['T9'] })).toBe("terminal T9 is not this merchant's");
});

test('an advance on a register of which nothing is known cannot be placed', () => {
  const advance = { receiptSeq: 3, fiscalSign: null, verificationUrl: null, terminalId: null, registeredAt: null };
  const unread = { ...unknownBefore, terminalId: null, reading: null };
  const known = evidence({ receiptType: 'advance', baseline: unread, deviceTerminalId: null });
  expect(codes(advance, known)).toEqual(['invalid_value']);
  expect(codes({ ...advance, terminalId: 'T9' }, known)).toEqual([]);
  expect(codes({ ...advance, terminalId: 'T9' }, { ...known, foreignTerminals: ['T9'] })).toEqual([
    'contradicts_reading',
  ]);
  const check = checkRegistration({ ...advance, receiptSeq: 11 }, evidence({ receiptType: 'advance' }), { nowMs: NOW });
  expect(check).toMatchObject({
    kind: 'consistent',
    registration: { terminalId: 'T1', registeredAt: new Date(NOW - 60_000) },
  });
});

test('the typed time may lack the seconds; a day ahead is a slow clock, more is a slip', () => {
  expect(codes(claim(11, { registeredAt: new Date(NOW - 60_000) }), evidence())).toEqual([]);
  expect(codes(claim(11, { registeredAt: new Date(NOW - 61_000) }), evidence())).toEqual(['contradicts_link']);
  expect(codes(claim(11, { atMs: NOW + 86_400_000 }), evidence())).toEqual([]);
  expect(codes(claim(11, { atMs: NOW + 86_401_000 }), evidence())).toEqual(['out_of_range']);
});

test('all faults are reported at once, with their pointers', () => {
  const claimed = { ...claim(9), fiscalSign: '999999999999' };
  const check = checkRegistration(claimed, evidence(), { nowMs: NOW, at: '/surplus' });
  expect(check).toMatchObject({
    faults: [
      { pointer: '/surplus/verification_url', code: 'contradicts_link' },
      { pointer: '/surplus/receipt_seq', code: 'contradicts_reading' },
    ],
  });
});
