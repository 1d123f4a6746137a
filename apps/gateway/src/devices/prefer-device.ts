import type { DeviceReading } from '#database';

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
/** After 48 h a module with unsent documents refuses to go on; from here on nothing is added to them. */
const NEAR_FUSE_MS = 40 * 3_600_000;

/**
 * The first circle with a device that can register now has the receipt, there the one with the least work; equals take turns.
 * When there is none in any circle, the one most likely to return, wherever it is.
 */
export function preferDevice<Device extends Candidate>(
  circles: readonly (readonly Device[])[],
  nowMs: number,
  turn: number,
): Device | undefined {
  for (const circle of circles) {
    const fit = circle.filter((device) => hindrance(device, nowMs) === 0);
    if (fit.length > 0) return leastWork(fit, turn);
  }
  const all = [...new Map(circles.flat().map((device) => [device.id, device])).values()];
  const least = Math.min(...all.map((device) => hindrance(device, nowMs)));
  const likeliest = all.filter((device) => hindrance(device, nowMs) === least);
  return lastSeen(likeliest, turn);
}

/**
 * How far a device is from registering: 0 at once; 1 it comes back by itself (a phone that sleeps); 2 when the OFD takes what
 * the module holds; 3 somebody has to go there; 4 its subscription or its module is at an end.
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
  return reading?.oldestUnsentAt ? nowMs - Date.parse(reading.oldestUnsentAt) >= NEAR_FUSE_MS : false;
}

function leastWork<Device extends Candidate>(devices: readonly Device[], turn: number): Device | undefined {
  const least = Math.min(...devices.map(({ work }) => work.receipts));
  const free = devices.filter(({ work }) => work.receipts === least);
  return free[turn % free.length];
}

/** Whoever answered last is the likeliest to answer next; among equals the shorter lane. */
function lastSeen<Device extends Candidate>(devices: readonly Device[], turn: number): Device | undefined {
  const latest = Math.max(...devices.map(({ lastSeenMs }) => lastSeenMs ?? 0));
  return leastWork(
    devices.filter(({ lastSeenMs }) => (lastSeenMs ?? 0) === latest),
    turn,
  );
}
