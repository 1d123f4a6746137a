// Promise: a device is shown and used as what it is; nothing but a person ends `replaced` and `disabled`.
import type { DeviceReading } from '#database';
import { decideState, type KnownState, type Observation } from './device-state.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const hoursAgo = (hours: number): string => new Date(NOW - hours * 3_600_000).toISOString();
const daysOn = (days: number): Date => new Date(NOW + days * 86_400_000);

const READING: DeviceReading = {
  ...{ terminalId: 'UZ1', receiptSeq: 5, unsentReceipts: 0, maxUnsentReceipts: 858, zReportsUsed: 3, zReportsMax: 832 },
  ...{ unsentZReports: 0, shift: null, subscriptionState: 'active' as const, oldestUnsentAt: null },
};

function answered(
  reading: Partial<DeviceReading> = {},
  more: Partial<Extract<Observation, { kind: 'answered' }>> = {},
) {
  const whole = { ...READING, ...reading };
  return {
    kind: 'answered',
    activated: true,
    fmInitialized: true,
    fmRefusal: null,
    reading: whole,
    subscriptionExpiresAt: null,
    ...more,
  } as const;
}
const refusing = (fmRefusal: string): Observation => answered({}, { fmRefusal });
const silent = (failures: number): Observation => ({ kind: 'silent', reason: 'ECONNREFUSED', failures });
const refused = (code: string): Observation => ({ kind: 'refused', code, reason: `${code}: no` });
const unsent = (hours: number, unsentReceipts = 1): Partial<DeviceReading> => ({
  unsentReceipts,
  oldestUnsentAt: hoursAgo(hours),
});
const openSince = (hours: number): Partial<DeviceReading> => ({
  shift: { number: 3, openedAt: hoursAgo(hours), closedAt: null, documents: 9, busySince: null },
});
const emptySince = (hours: number): Partial<DeviceReading> => ({
  shift: { number: 3, openedAt: hoursAgo(hours), closedAt: null, documents: 0, busySince: null },
});
/** Opened long before its first document. */
const busySince = (hours: number, documents: number): Partial<DeviceReading> => ({
  shift: { number: 3, openedAt: hoursAgo(99), closedAt: null, documents, busySince: hoursAgo(hours) },
});
const closedSince = (hours: number): Partial<DeviceReading> => ({
  shift: { number: 3, openedAt: hoursAgo(hours), closedAt: hoursAgo(1), documents: 9, busySince: null },
});

const ONLINE: KnownState = { state: 'online', reason: null };
const blocked = (reason: string): KnownState => ({ state: 'blocked', reason });

const CASES: readonly (readonly [string, KnownState, Observation, string, RegExp | null])[] = [
  ['all is well', ONLINE, answered(), 'online', null],
  ['memory 79 % full', ONLINE, answered(unsent(1, 686)), 'online', null],
  ['memory 80 % full', ONLINE, answered(unsent(1, 687)), 'degraded', /^memory/],
  ['memory full', ONLINE, answered(unsent(1, 858)), 'blocked', /^F-003.*full/],
  ['unsent for 23 h', ONLINE, answered(unsent(23)), 'online', null],
  ['unsent for 24 h', ONLINE, answered(unsent(24)), 'degraded', /^ofd_warning/],
  ['unsent for 40 h', ONLINE, answered(unsent(40)), 'degraded', /^ofd_alarm/],
  ['unsent for 40 h and memory nearly full', ONLINE, answered(unsent(40, 800)), 'degraded', /^ofd_alarm/],
  ['unsent for 48 h', ONLINE, answered(unsent(48)), 'blocked', /^F-003.*48 hours/],
  ['sent meanwhile', blocked('F-003: the oldest'), answered(), 'online', null],
  ['an old date without anything unsent', ONLINE, answered({ oldestUnsentAt: hoursAgo(60) }), 'online', null],
  ['few shifts left', ONLINE, answered({ zReportsUsed: 802 }), 'degraded', /^shifts: 30/],
  ['a register that names no number of shifts', ONLINE, answered({ zReportsMax: 0, zReportsUsed: 0 }), 'online', null],
  ['shift open for 35 h', ONLINE, answered(openSince(35)), 'online', null],
  ['shift open for 36 h', ONLINE, answered(openSince(36)), 'degraded', /^shift_age/],
  ['an empty shift of any age, which is never closed', ONLINE, answered(emptySince(99)), 'online', null],
  ['shift with documents for 35 h', ONLINE, answered(busySince(35, 2)), 'online', null],
  ['shift with documents for 36 h', ONLINE, answered(busySince(36, 2)), 'degraded', /^shift_age/],
  ['shift with an advance alone for 36 h', ONLINE, answered(busySince(36, 0)), 'degraded', /^shift_age/],
  ['a closed shift of any age', ONLINE, answered(closedSince(99)), 'online', null],
  ['subscription expiring', ONLINE, answered({ subscriptionState: 'expiring' }), 'degraded', /^subscription/],
  ['subscription ends in 6 days', ONLINE, answered({}, { subscriptionExpiresAt: daysOn(6) }), 'degraded', /^subscr/],
  ['subscription ends in 8 days', ONLINE, answered({}, { subscriptionExpiresAt: daysOn(8) }), 'online', null],
  ['subscription expired', ONLINE, answered({ subscriptionState: 'expired' }), 'expired', /^E-002/],
  ['renewed', { state: 'expired', reason: 'E-002' }, answered(), 'online', null],
  ['not activated', ONLINE, answered({}, { activated: false }), 'blocked', /^E-001/],
  ['activated at last', blocked('E-001: no'), answered(), 'online', null],
  ['module not initialised', ONLINE, answered({}, { fmInitialized: false }), 'blocked', /^F-001/],
  ['module initialised', blocked('F-001: no'), answered(), 'online', null],
  ['a clock that is behind, by its own word', ONLINE, refusing('F-003: The clock'), 'blocked', /^F-003: The clock/],
  [
    'a clock that is behind still',
    blocked('F-003: The clock'),
    refusing('F-003: The clock'),
    'blocked',
    /^F-003: The clock/,
  ],
  ['a clock of which it says nothing', blocked('F-003: The clock'), answered(), 'online', null],
  ['wrong key', ONLINE, refused('S-001'), 'blocked', /^S-001/],
  ['expired by refusal', ONLINE, refused('E-002'), 'expired', /^E-002/],
  ['key mended', blocked('S-001: no'), answered(), 'online', null],
  ['wrong VAT rule: a poll cannot see that it is mended', blocked('E-016: VAT'), answered(), 'blocked', /^E-016/],
  ['terminal of another device stays blocked', blocked('terminal UZ1 belongs'), answered(), 'blocked', /^terminal/],
  ['blocked for one reason, then another', blocked('E-016: VAT'), answered(unsent(49)), 'blocked', /^F-003/],
  ['one poll unanswered', ONLINE, silent(1), 'online', null],
  ['two polls unanswered', { state: 'degraded', reason: 'memory' }, silent(2), 'degraded', /^memory/],
  ['three polls unanswered', ONLINE, silent(3), 'unreachable', /ECONNREFUSED/],
  ['back again', { state: 'unreachable', reason: 'x' }, answered(), 'online', null],
  ['back again, degraded', { state: 'unreachable', reason: 'x' }, answered(unsent(30)), 'degraded', /^ofd_warning/],
  ['another module', ONLINE, { kind: 'replaced', reason: 'terminal UZ2' }, 'replaced', /UZ2/],
  ['replaced stays, whatever it says', { state: 'replaced', reason: 'r' }, answered(), 'replaced', /^r$/],
  ['replaced stays, also away', { state: 'replaced', reason: 'r' }, silent(99), 'replaced', /^r$/],
  ['disabled stays', { state: 'disabled', reason: null }, answered(), 'disabled', null],
];

test.each(CASES.map(([name, ...row]) => ({ name, row })))('$name', ({ row: [known, seen, state, reason] }) => {
  const decided = decideState({ known, seen, nowMs: NOW });
  expect(decided.state).toBe(state);
  if (reason === null) expect(decided.reason).toBeNull();
  else expect(decided.reason).toMatch(reason);
});

test('a person who asks lifts what cannot be seen, and nothing that can', () => {
  const known = blocked('E-016: VAT');
  expect(decideState({ known, seen: answered(), nowMs: NOW, isAsked: true }).state).toBe('online');
  expect(decideState({ known, seen: answered({}, { activated: false }), nowMs: NOW, isAsked: true }).state).toBe(
    'blocked',
  );
  const replaced: KnownState = { state: 'replaced', reason: 'r' };
  expect(decideState({ known: replaced, seen: answered(), nowMs: NOW, isAsked: true })).toEqual(replaced);
});
