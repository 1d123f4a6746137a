import { isMoneyHeld, type PaymentState } from './payment-state.js';

/** Pauses before the next try, by how many tries in a row have brought nothing since the payment came into its state. */
export interface RetrySchedule {
  readonly pausesMs: readonly number[];
  /** After the last of them. */
  readonly lastMs: number;
}

/** Nothing of the customer's is held: a provider that is away is asked less and less often. */
const PATIENT: RetrySchedule = { pausesMs: [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000], lastMs: 300_000 };

const EVERY_MS = 10_000;
const FIRST_MINUTES = 10;

/**
 * The customer's money is held and only the provider's answer is missing. For ten minutes it is asked every ten seconds, then
 * every thirty: after an outage the money moves within half a minute.
 */
const MONEY_HELD: RetrySchedule = {
  pausesMs: [500, 1_000, 2_000, 5_000, ...Array<number>((FIRST_MINUTES * 60_000) / EVERY_MS).fill(EVERY_MS)],
  lastMs: 30_000,
};

/** Each pause is drawn from 1 ± this, so that payments that failed together are not tried together. */
export const RETRY_JITTER = 0.1;

/** The longest pause between two tries while money is held, jitter included (docs/payments/failures.md, "How long money may be held"). */
export const LONGEST_HELD_PAUSE_MS = Math.round(MONEY_HELD.lastMs * (1 + RETRY_JITTER));

export function retrySchedule(state: PaymentState): RetrySchedule {
  return isMoneyHeld(state) ? MONEY_HELD : PATIENT;
}

/** @param random in [0, 1) */
export function retryAfterMs(state: PaymentState, failures: number, random: () => number = Math.random): number {
  const { pausesMs, lastMs } = retrySchedule(state);
  const pauseMs = pausesMs[Math.max(failures, 0)] ?? lastMs;
  return Math.round(pauseMs * (1 - RETRY_JITTER + 2 * RETRY_JITTER * random()));
}
