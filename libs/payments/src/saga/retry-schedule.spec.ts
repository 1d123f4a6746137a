// Promise: a customer's money that only waits for its provider is never left alone for longer than docs/payments/failures.md says, however often it was asked in vain.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { isMoneyHeld, isWithoutMoney, PAYMENT_STATES } from './payment-state.js';
import { LONGEST_HELD_PAUSE_MS, retryAfterMs, RETRY_JITTER, retrySchedule } from './retry-schedule.js';

const HELD = PAYMENT_STATES.filter(isMoneyHeld);
const OTHERS = PAYMENT_STATES.filter((state) => !isMoneyHeld(state));
const MINUTE_MS = 60_000;

/** When each try is made, counted from the first, without jitter. */
function triesWithin(schedule: ReturnType<typeof retrySchedule>, endMs: number): number[] {
  const times: number[] = [];
  for (let atMs = 0; atMs <= endMs; atMs += schedule.pausesMs[times.length - 1] ?? schedule.lastMs) times.push(atMs);
  return times;
}

it('no pause while money is held is longer than the documented one, after any number of failures', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...HELD),
      fc.nat(100_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (state, failures, drawn) => {
        const pauseMs = retryAfterMs(state, failures, () => drawn);
        expect(pauseMs).toBeGreaterThan(0);
        expect(pauseMs).toBeLessThanOrEqual(LONGEST_HELD_PAUSE_MS);
      },
    ),
  );
});

it('in its first ten minutes money that is held is asked for at least every eleven seconds', () => {
  for (const state of HELD) {
    const { pausesMs } = retrySchedule(state);
    expect(Math.max(...pausesMs) * (1 + RETRY_JITTER)).toBeLessThanOrEqual(11_000);
    expect(pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0)).toBeGreaterThanOrEqual(10 * MINUTE_MS);
  }
});

it('the schedule begins within a second and never speeds up again', () => {
  for (const state of PAYMENT_STATES) {
    const { pausesMs, lastMs } = retrySchedule(state);
    expect(pausesMs[0]).toBeLessThanOrEqual(1_000);
    const all = [...pausesMs, lastMs];
    expect(all).toEqual([...all].sort((left, right) => left - right));
  }
});

it('an hour of a provider that does not answer costs a bounded number of calls for each payment', () => {
  for (const state of HELD) expect(triesWithin(retrySchedule(state), 60 * MINUTE_MS).length).toBeLessThanOrEqual(170);
  for (const state of OTHERS) expect(triesWithin(retrySchedule(state), 60 * MINUTE_MS).length).toBeLessThanOrEqual(20);
});

it('a state holds money, has it taken or given back, or has none', () => {
  const taken = ['captured', 'refunding', 'refund_unknown', 'manual', 'created', 'pending'];
  for (const state of OTHERS) expect(isWithoutMoney(state) || taken.includes(state)).toBe(true);
  for (const state of HELD) expect(isWithoutMoney(state)).toBe(false);
});

it('docs/payments/failures.md states the longest pause', () => {
  const seconds = String(LONGEST_HELD_PAUSE_MS / 1_000);
  expect(readFileSync('docs/payments/failures.md', 'utf8')).toContain(`${seconds} seconds`);
});
