import type { GatewaySettings } from '../settings.js';

/** How patient the saga is. Derived from the program's settings in one place. */
export interface PaymentTiming {
  /** After this an unanswered call cannot be under way any more. */
  settleMs: number;
  /** A provider's call that takes longer is answered "not now": the provider waits two seconds, some of them for the way. */
  answerMs: number;
  /** How long a worker has a payment before another may take it. */
  leaseSeconds: number;
  /** What must be left of a hold to send the receipt: the register answers, then the money is taken. */
  holdMarginMs: number;
  /** Between two polls of what is due. */
  pollEveryMs: number;
}

export const PAYMENT_TIMING = Symbol('paymentTiming');

/** What must be left of a hold to begin with the receipt; of a short hold a third of it. */
export const HOLD_MARGIN_MS = 120_000;

/** More than passes between the intent and the first byte, or nothing is sent (docs/payments/failures.md, "Crash windows"). */
export const SEND_GUARD_MS = 2_000;

/** A receipt that moves wakes its payment; this is for the day on which it does not. */
export const RECEIPT_POLL_MS = 60_000;

/** Requests that one call may consist of: a reversal at Click searches the payment on three days before. */
const MAX_REQUESTS = 4;

export function paymentTiming(settings: GatewaySettings): PaymentTiming {
  const longestMs = MAX_REQUESTS * settings.PAYMENT_CALL_TIMEOUT_MS + SEND_GUARD_MS;
  return {
    answerMs: settings.PAYMENT_ANSWER_MS,
    settleMs: Math.max(settings.PAYMENT_SETTLE_MS, longestMs + 1_000),
    leaseSeconds: Math.ceil(longestMs / 1_000) + 8,
    holdMarginMs: HOLD_MARGIN_MS,
    pollEveryMs: settings.PAYMENT_LOOK_MS,
  };
}
