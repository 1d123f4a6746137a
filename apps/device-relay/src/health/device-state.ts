import type { DeviceReading, DeviceShiftReading } from '#database';
import { OFD_ALARM_MS, OFD_FUSE_MS, OFD_WARNING_MS, SHIFT_MS } from '#fiscal-domain';
import { STOPPED_STATES, type DeviceStateName } from '../devices/register.js';

/** What one poll found out. */
export type Observation =
  /** `failures`: polls in a row without an answer, this one included. */
  | { kind: 'silent'; reason: string; failures: number }
  | { kind: 'refused'; code: string; reason: string }
  | { kind: 'replaced'; reason: string }
  | {
      kind: 'answered';
      activated: boolean;
      fmInitialized: boolean;
      /** What the register itself says its module refuses every receipt with. */
      fmRefusal: string | null;
      reading: DeviceReading;
      subscriptionExpiresAt: Date | null;
    };

export interface KnownState {
  state: DeviceStateName;
  reason: string | null;
}

export interface StateQuestion {
  known: KnownState;
  seen: Observation;
  nowMs: number;
  /** A person asked for this poll after mending the register: what cannot be seen from here counts as mended. */
  isAsked?: boolean;
}

/** Polls in a row without an answer before the register counts as away. */
export const SILENT_POLLS = 3;
const MEMORY_WARNING = 0.8;
const SHIFTS_LEFT_WARNING = 30;
const SUBSCRIPTION_WARNING_MS = 7 * 24 * 3_600_000;
/** Older means that closing does not work. */
const SHIFT_WARNING_MS = 1.5 * SHIFT_MS;
/** Blocks that a poll sees to be gone: the register answers its calls, is activated, its module works. */
const VISIBLE_BLOCKS = ['E-001', 'F-001', 'F-003', 'S-001', 'S-002', 'S-003', 'GET /'];

/**
 * The state of a device after a poll: the one place that decides it. What people alone end stays;
 * a block ends when the poll can see that its reason is gone (docs/architecture.md).
 */
export function decideState({ known, seen, nowMs, isAsked = false }: StateQuestion): KnownState {
  if (STOPPED_STATES.has(known.state)) return known;
  switch (seen.kind) {
    case 'silent':
      return seen.failures >= SILENT_POLLS ? { state: 'unreachable', reason: seen.reason } : known;
    case 'replaced':
      return { state: 'replaced', reason: seen.reason };
    case 'refused':
      return { state: seen.code === 'E-002' ? 'expired' : 'blocked', reason: seen.reason };
    case 'answered':
      return decideAnswered(known, seen, { nowMs, isAsked });
  }
}

function decideAnswered(
  known: KnownState,
  seen: Extract<Observation, { kind: 'answered' }>,
  { nowMs, isAsked }: { nowMs: number; isAsked: boolean },
): KnownState {
  const { reading } = seen;
  if (!seen.activated) return { state: 'blocked', reason: 'E-001: the register is not activated' };
  if (!seen.fmInitialized) return { state: 'blocked', reason: 'F-001: the fiscal module is not initialised' };
  if (reading.subscriptionState === 'expired')
    return { state: 'expired', reason: 'E-002: the subscription has expired' };
  const refusal = moduleRefusal(reading, nowMs);
  if (refusal !== null) return { state: 'blocked', reason: refusal };
  if (seen.fmRefusal !== null) return { state: 'blocked', reason: seen.fmRefusal };
  const isHiddenBlock =
    known.state === 'blocked' &&
    known.reason !== null &&
    !VISIBLE_BLOCKS.some((code) => known.reason?.startsWith(code));
  // E-016, a terminal that belongs to another device: only a person or the next sale can show it.
  if (isHiddenBlock && !isAsked) return known;
  const warning = warningOf(seen, nowMs);
  return warning === null ? { state: 'online', reason: null } : { state: 'degraded', reason: warning };
}

/** Why the module will refuse every sale, though it answers; null when it will not. */
function moduleRefusal(reading: DeviceReading, nowMs: number): string | null {
  if (reading.unsentReceipts >= reading.maxUnsentReceipts && reading.unsentReceipts > 0)
    return `F-003: the memory is full, ${reading.unsentReceipts} documents are unsent`;
  if (unsentAgeMs(reading, nowMs) >= OFD_FUSE_MS) return 'F-003: the oldest unsent document is older than 48 hours';
  return null;
}

/** The most urgent first. */
function warningOf(seen: Extract<Observation, { kind: 'answered' }>, nowMs: number): string | null {
  const { reading, subscriptionExpiresAt } = seen;
  const unsentMs = unsentAgeMs(reading, nowMs);
  if (unsentMs >= OFD_ALARM_MS) return 'ofd_alarm: documents are unsent for more than 40 hours';
  if (reading.unsentReceipts >= MEMORY_WARNING * reading.maxUnsentReceipts && reading.unsentReceipts > 0)
    return `memory: ${reading.unsentReceipts} of ${reading.maxUnsentReceipts} places are taken by unsent documents`;
  if (unsentMs >= OFD_WARNING_MS) return 'ofd_warning: documents are unsent for more than 24 hours';
  const { shift } = reading;
  if (shift && nowMs - toBeClosedSinceMs(shift) >= SHIFT_WARNING_MS)
    return `shift_age: shift ${shift.number} is open since ${shift.openedAt}`;
  if (reading.zReportsMax > 0 && reading.zReportsMax - reading.zReportsUsed <= SHIFTS_LEFT_WARNING)
    return `shifts: ${reading.zReportsMax - reading.zReportsUsed} shifts are left in the life of the module`;
  const leftMs = subscriptionExpiresAt === null ? Infinity : subscriptionExpiresAt.getTime() - nowMs;
  if (reading.subscriptionState === 'expiring' || leftMs <= SUBSCRIPTION_WARNING_MS)
    return 'subscription: it ends soon';
  return null;
}

/** Since when it has documents; Infinity: it is closed, or empty, which is never closed and may stay open (docs/watch.md). */
function toBeClosedSinceMs({ closedAt, openedAt, documents, busySince }: DeviceShiftReading): number {
  const isEmpty = documents === 0 && !busySince;
  return closedAt !== null || isEmpty ? Infinity : Date.parse(busySince ?? openedAt);
}

function unsentAgeMs({ unsentReceipts, oldestUnsentAt }: DeviceReading, nowMs: number): number {
  return unsentReceipts === 0 || oldestUnsentAt === null ? 0 : nowMs - Date.parse(oldestUnsentAt);
}
