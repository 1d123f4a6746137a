import { setTimeout as delay } from 'node:timers/promises';
import { dayStart } from '../overview/receipt-sums.js';

/** Longer than a test that asks for "today" takes on a slow machine. */
const MARGIN_MS = 150_000;
/** For tests that call it: they may have to wait. */
export const MIDNIGHT_TIMEOUT_MS = 180_000 + MARGIN_MS;

/** Waits while today is about to end in Tashkent: what is written after it and read as today's is of one day. */
export async function awayFromMidnight(): Promise<void> {
  const leftMs = dayStart(new Date(), -1).getTime() - Date.now();
  if (leftMs < MARGIN_MS) await delay(leftMs + 1_000);
}
