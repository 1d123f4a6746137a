import type { DeviceReading, DeviceShiftReading } from '#database';
import {
  nextTimeOfDay,
  parseTashkentTime,
  parseTimeOfDay,
  type CurrentZReport,
  type FmInfo,
  type LocalStatus,
} from '#fiscal-domain';

/**
 * Documents after which a shift is closed before its time: the module refuses the 29 999th and later ones. The margin
 * holds what is sold between two polls, and advances and credits, which a Z-report does not count.
 */
const FULL_SHIFT_DOCUMENTS = 29_000;

export interface ReadingParts {
  status: LocalStatus;
  /** Null: it does not say. */
  classifierVersion: number | null;
  info: FmInfo;
  /** Null: not asked for this time, what was known stands. */
  shift: SeenShiftState | null;
  previous: DeviceReading | null;
  /** Of the gateway's own receipts on this terminal. */
  oldestPendingMs: number | null;
  nowMs: number;
}

/** The current shift, as it was asked for. */
export interface SeenShiftState {
  report: CurrentZReport | null;
  /** Documents of ours that stand in no total: advances and credits. */
  hasUncounted: boolean;
  unsentZReports: number;
}

export function readingFrom(parts: ReadingParts): DeviceReading {
  const { status, classifierVersion, info, shift, previous, oldestPendingMs, nowMs } = parts;
  const known = previous?.terminalId === info.terminalId ? previous : null;
  return {
    terminalId: info.terminalId,
    receiptSeq: info.currentReceiptSeq,
    unsentReceipts: info.receiptCount,
    maxUnsentReceipts: info.receiptMaxCount,
    zReportsUsed: info.zreportCount,
    zReportsMax: info.zreportMaxCount,
    unsentZReports: shift ? shift.unsentZReports : (known?.unsentZReports ?? 0),
    shift: shift ? shiftFrom(shift, known?.shift ?? null, nowMs) : (known?.shift ?? null),
    subscriptionState: status.subscriptionState,
    oldestUnsentAt: info.receiptCount === 0 ? null : isoOf(oldestUnsentMs(known, oldestPendingMs, nowMs)),
    ...classifierOf(classifierVersion),
  };
}

/** What only registers with our extension say. */
function classifierOf(classifierVersion: number | null): Pick<DeviceReading, 'classifierVersion'> {
  return classifierVersion === null ? {} : { classifierVersion };
}

/** Other people's receipts have no date here: unsent since the first poll that saw something unsent. */
function oldestUnsentMs(known: DeviceReading | null, oldestPendingMs: number | null, nowMs: number): number {
  const seenBefore = known?.oldestUnsentAt ? Date.parse(known.oldestUnsentAt) : nowMs;
  return oldestPendingMs ?? seenBefore;
}

/** Null when the register's times cannot be read: nothing is closed on a guess. */
export function shiftFrom(
  { report, hasUncounted }: Pick<SeenShiftState, 'report' | 'hasUncounted'>,
  known: DeviceShiftReading | null,
  nowMs: number,
): DeviceShiftReading | null {
  if (report === null) return null;
  const { Number: number, OpenTime, CloseTime } = report.Header;
  const openedMs = parseTashkentTime(OpenTime);
  const closedMs = CloseTime === '' ? null : parseTashkentTime(CloseTime);
  if (openedMs === null || (CloseTime !== '' && closedMs === null)) return null;
  const documents = report.TotalSaleCount + report.TotalRefundCount;
  return {
    number,
    openedAt: isoOf(openedMs),
    closedAt: closedMs === null ? null : isoOf(closedMs),
    documents,
    busySince: documents === 0 && !hasUncounted ? null : busySince(known, { number, openedMs, nowMs }),
    seenAt: isoOf(nowMs),
  };
}

/**
 * A shift that was seen empty is busy since now; one that was never seen empty since its opening. That time is the register's, whose clock may be
 * wrong, while shifts are closed by ours: behind by an hour, each shift after the time of closing would seem to be one of before it, be closed at
 * once, and the next one, too, until no Z-report is left. A shift cannot be older than the moment at which another one was seen.
 */
function busySince(
  known: DeviceShiftReading | null,
  { number, openedMs, nowMs }: { number: number; openedMs: number; nowMs: number },
): string {
  if (known?.number === number) return known.busySince ?? isoOf(nowMs);
  const otherSeenMs = known?.seenAt === undefined ? -Infinity : Date.parse(known.seenAt);
  return isoOf(Math.min(nowMs, Math.max(openedMs, otherSeenMs)));
}

/** When the open shift is to be closed; null = it is closed, empty, or there is none. */
export function closeDueMs(shift: DeviceShiftReading | null, closeAt: string): number | null {
  if (shift?.closedAt !== null || !shift.busySince) return null;
  if (shift.documents >= FULL_SHIFT_DOCUMENTS) return Date.parse(shift.busySince);
  const minutes = parseTimeOfDay(closeAt);
  return minutes === null ? null : nextTimeOfDay(Date.parse(shift.busySince), minutes);
}

/** The device's own time, else the merchant's, else the installation's; what is no time of day is passed over. */
export function timeOfClose(device: string | null, merchantSettings: unknown, fallback: string): string {
  const merchants =
    typeof merchantSettings === 'object' && merchantSettings !== null && 'time_of_close' in merchantSettings
      ? merchantSettings.time_of_close
      : null;
  const chosen = [device, merchants].find((time) => typeof time === 'string' && parseTimeOfDay(time) !== null);
  return typeof chosen === 'string' ? chosen : fallback;
}

function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
