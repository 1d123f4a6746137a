// Promise: a shift is closed by the clock of its shop: never an empty one, never one that was busy only since this morning.
import type { DeviceShiftReading } from '#database';
import type { CurrentZReport, FmInfo, LocalStatus } from '#fiscal-domain';
import { closeDueMs, readingFrom, shiftFrom, timeOfClose } from './device-reading.js';

const at = (text: string): number => Date.parse(`${text}+05:00`);
const iso = (text: string): string => new Date(at(text)).toISOString();
const NOW = at('2026-11-21T09:00:00');

function report(more: Partial<CurrentZReport['Header']> = {}, counts: { sales?: number; refunds?: number } = {}) {
  const header = { TerminalID: 'UZ1', Number: 7, OpenTime: '2026-11-20 10:00:00', CloseTime: '', ...more };
  return {
    Header: header,
    ...{ TotalSaleCash: 0, TotalSaleCard: 0, TotalSaleVAT: 0, TotalSaleCount: counts.sales ?? 0 },
    ...{ TotalRefundCash: 0, TotalRefundCard: 0, TotalRefundVAT: 0, TotalRefundCount: counts.refunds ?? 0 },
  };
}

/** The shift of this report, read now. */
function shiftOf(seen: CurrentZReport, known: DeviceShiftReading | null = null, hasUncounted = false) {
  return shiftFrom({ report: seen, hasUncounted }, known, NOW);
}

const EMPTY = shiftOf(report());

test('an empty shift is not due; its first documents count from the poll that saw them', () => {
  expect(EMPTY).toMatchObject({ documents: 0, busySince: null, closedAt: null });
  expect(closeDueMs(EMPTY, '23:50')).toBeNull();
  const busy = shiftOf(report({}, { sales: 1 }), EMPTY);
  expect(busy?.busySince).toBe(iso('2026-11-21T09:00:00'));
  expect(closeDueMs(busy, '23:50')).toBe(at('2026-11-21T23:50:00'));
});

test('advances stand in no total, and make a shift busy all the same', () => {
  const busy = shiftOf(report(), EMPTY, true);
  expect(busy).toMatchObject({ documents: 0, busySince: iso('2026-11-21T09:00:00') });
  expect(closeDueMs(busy, '23:50')).toBe(at('2026-11-21T23:50:00'));
});

test('a busy shift of a register that slept over its time is due since yesterday', () => {
  const busy = shiftOf(report({}, { sales: 3, refunds: 1 }));
  expect(busy).toMatchObject({ documents: 4, busySince: iso('2026-11-20T10:00:00') });
  expect(closeDueMs(busy, '23:50')).toBe(at('2026-11-20T23:50:00'));
});

test('what was known of another shift says nothing about this one, but that this one is younger', () => {
  const older: DeviceShiftReading = { ...EMPTY!, number: 6, seenAt: iso('2026-11-20T09:00:00') };
  expect(shiftOf(report({}, { sales: 1 }), older)?.busySince).toBe(iso('2026-11-20T10:00:00'));
});

test.each([
  ['behind by an hour', '2026-11-20 22:51:00', '2026-11-20T23:51:00'],
  ['behind by a year', '2025-11-20 23:52:00', '2026-11-20T23:51:00'],
  ['ahead by a day', '2026-11-21 23:52:00', '2026-11-20T23:53:00'],
])('a register whose clock is %s does not have each of its shifts closed at once', (_, OpenTime, since) => {
  // Closed at its time, at 23:50; sold again at 23:52, and read at 23:53.
  const closed: DeviceShiftReading = {
    ...{ number: 6, openedAt: iso('2026-11-20T08:00:00'), closedAt: iso('2026-11-20T22:50:00'), documents: 3 },
    ...{ busySince: null, seenAt: iso('2026-11-20T23:51:00') },
  };
  const seen = { report: report({ OpenTime }, { sales: 1 }), hasUncounted: false };
  const open = shiftFrom(seen, closed, at('2026-11-20T23:53:00'));
  expect(open?.busySince).toBe(iso(since));
  expect(closeDueMs(open, '23:50')).toBe(at('2026-11-21T23:50:00'));
});

test('a closed shift is not due; times that cannot be read close nothing', () => {
  const closed = shiftOf(report({ CloseTime: '2026-11-20 23:50:01' }, { sales: 2 }));
  expect(closed?.closedAt).toBe(iso('2026-11-20T23:50:01'));
  expect(closeDueMs(closed, '23:50')).toBeNull();
  expect(shiftOf(report({ OpenTime: 'this morning' }, { sales: 2 }))).toBeNull();
  expect(shiftOf(report({ CloseTime: '2026-13-01 00:00:00' }, { sales: 2 }))).toBeNull();
  expect(closeDueMs(null, '23:50')).toBeNull();
});

test('a shift that is nearly full is due at once', () => {
  const full = shiftOf(report({ OpenTime: '2026-11-21 08:00:00' }, { sales: 28_000, refunds: 1_000 }));
  expect(closeDueMs(full, '23:50')).toBeLessThanOrEqual(NOW);
  const nearly = shiftOf(report({ OpenTime: '2026-11-21 08:00:00' }, { sales: 28_999 }));
  expect(closeDueMs(nearly, '23:50')).toBe(at('2026-11-21T23:50:00'));
});

test.each([
  ['00:00', { time_of_close: '22:00' }, '00:00'],
  [null, { time_of_close: '22:00' }, '22:00'],
  [null, { time_of_close: null }, '23:50'],
  [null, { time_of_close: '25:00' }, '23:50'],
  [null, { time_of_close: 2200 }, '23:50'],
  [null, null, '23:50'],
])('device %p, merchant %j: closes at %p', (device, merchant, expected) => {
  expect(timeOfClose(device, merchant, '23:50')).toBe(expected);
});

describe('since when something is unsent', () => {
  const status = { subscriptionState: 'active' } as LocalStatus;
  const info = { terminalId: 'UZ1', receiptCount: 2, currentReceiptSeq: 9 } as FmInfo;
  const parts = {
    status,
    classifierVersion: null,
    info,
    shift: null,
    previous: null,
    oldestPendingMs: null,
    nowMs: NOW,
  };

  test("taken from the gateway's own receipts; else from the first poll that saw it", () => {
    const own = readingFrom({ ...parts, oldestPendingMs: NOW - 5_000 });
    expect(own.oldestUnsentAt).toBe(new Date(NOW - 5_000).toISOString());
    const first = readingFrom(parts);
    expect(first.oldestUnsentAt).toBe(new Date(NOW).toISOString());
    expect(readingFrom({ ...parts, previous: first, nowMs: NOW + 60_000 }).oldestUnsentAt).toBe(first.oldestUnsentAt);
    const sent = readingFrom({ ...parts, previous: first, info: { ...info, receiptCount: 0 } });
    expect(sent.oldestUnsentAt).toBeNull();
  });

  test('another module begins anew', () => {
    const first = readingFrom({
      ...parts,
      shift: { report: report({}, { sales: 1 }), hasUncounted: false, unsentZReports: 2 },
    });
    expect(readingFrom({ ...parts, previous: first })).toMatchObject({ unsentZReports: 2, shift: { number: 7 } });
    const other = readingFrom({ ...parts, previous: first, info: { ...info, terminalId: 'UZ2' }, nowMs: NOW + 1 });
    expect(other).toMatchObject({ unsentZReports: 0, shift: null, oldestUnsentAt: new Date(NOW + 1).toISOString() });
  });
});
