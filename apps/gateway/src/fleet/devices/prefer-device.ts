import type { DeviceReading } from '#database';
import { OFD_ALARM_MS } from '#fiscal-domain';

/** A device that takes new receipts at all. */
export interface Candidate {
  id: string;
  state: string;
  reading: DeviceReading | null;
  /** Null: it has never answered. */
  lastSeenMs: number | null;
  /** Receipts that wait there or are being sent. */
  work: { receipts: number };
}

/** States in which a register answers. */
const HEALTHY: ReadonlySet<string> = new Set(['online', 'degraded']);

/** Those of a circle that can register now. */
export function firstFit<Device extends Candidate>(circle: readonly Device[], nowMs: number): Device[] {
  return circle.filter((device) => hindrance(device, nowMs) === 0);
}

/** When none can: those that are nearest to it, and of these those that answered last. */
export function likeliest<Device extends Candidate>(devices: readonly Device[], nowMs: number): Device[] {
  const least = Math.min(...devices.map((device) => hindrance(device, nowMs)));
  const nearest = devices.filter((device) => hindrance(device, nowMs) === least);
  const latest = Math.max(...nearest.map(({ lastSeenMs }) => lastSeenMs ?? 0));
  return nearest.filter(({ lastSeenMs }) => (lastSeenMs ?? 0) === latest);
}

/** Equals take turns. */
export function leastWork<Device extends Candidate>(devices: readonly Device[], turn: number): Device | undefined {
  const least = Math.min(...devices.map(({ work }) => work.receipts));
  const free = devices.filter(({ work }) => work.receipts === least);
  return free[turn % free.length];
}

/**
 * How far a device is from registering: 0 at once; 1 it comes back by itself (a phone that sleeps); 2 when the OFD takes what
 * the module holds; 3 a person has to go there; 4 its subscription or its module is at an end.
 */
function hindrance({ state, reading }: Candidate, nowMs: number): number {
  if (state === 'expired' || reading?.subscriptionState === 'expired' || isUsedUp(reading)) return 4;
  if (state === 'blocked') return 3;
  if (isFull(reading) || isNearFuse(reading, nowMs)) return 2;
  return HEALTHY.has(state) ? 0 : 1;
}

/** The module counts shifts once and for all. */
function isUsedUp(reading: DeviceReading | null): boolean {
  return reading !== null && reading.zReportsMax > 0 && reading.zReportsUsed >= reading.zReportsMax;
}

function isFull(reading: DeviceReading | null): boolean {
  return reading !== null && reading.maxUnsentReceipts > 0 && reading.unsentReceipts >= reading.maxUnsentReceipts;
}

function isNearFuse(reading: DeviceReading | null, nowMs: number): boolean {
  return reading?.oldestUnsentAt ? nowMs - Date.parse(reading.oldestUnsentAt) >= OFD_ALARM_MS : false;
}
