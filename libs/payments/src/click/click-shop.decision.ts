import type { ClickCommand, ClickError } from './click-shop.wire.js';

/** The order that `merchant_trans_id` names. */
export interface ClickOrder {
  amountTiyin: number;
  /** Where its money stands: only `open` and `prepared` can be paid. */
  state: 'open' | 'prepared' | 'paid' | 'closed';
}

/** What is known of this very `click_trans_id`: one try of the customer to pay the order. */
export interface ClickAttempt {
  /** Its own number, the answer to its Prepare. */
  number: number;
  /** `paid`: the order's money is this attempt's, and no Complete of it was answered yet. `confirmed`: one was. */
  state: 'prepared' | 'paid' | 'confirmed' | 'cancelled';
}

export interface ClickFacts {
  order: ClickOrder | null;
  attempt: ClickAttempt | null;
  /** The answer to a repeated Complete of the attempt that paid: documented is -4, some merchants' accounts expect 0. */
  repeatedComplete: Extract<ClickError, 0 | -4>;
}

export interface ClickDecision {
  error: ClickError;
  change: 'prepare' | 'confirm' | 'acknowledge' | 'cancel' | null;
  /** Click has taken money for an attempt that is not the one that paid the order. */
  isExtraCharge: boolean;
}

type Decided = Pick<ClickDecision, 'error' | 'change'>;

/** Order of the checks: -5, -4, -6, -2, -9. Prepare's repeat gets the answer that the first one got. */
export function decideClick(command: ClickCommand, facts: ClickFacts): ClickDecision {
  const { order, attempt } = facts;
  if (!order) return { ...no(-5), isExtraCharge: false };
  if (command.action === 'prepare') return { ...decidePrepare(command, order, attempt), isExtraCharge: false };
  const decided = decideComplete(command, order, facts);
  // Complete without an error of Click's own means that the customer was charged.
  const isPayer = attempt?.state === 'paid' || attempt?.state === 'confirmed';
  return { ...decided, isExtraCharge: command.error >= 0 && decided.error !== 0 && !isPayer };
}

function decidePrepare(command: ClickCommand, order: ClickOrder, attempt: ClickAttempt | null): Decided {
  if (order.state === 'paid') return no(-4);
  if (!isSameSum(command, order)) return no(-2);
  if (order.state === 'closed' || attempt?.state === 'cancelled') return no(-9);
  if (command.error < 0) return failedAtClick(attempt);
  return attempt ? no(0) : { error: 0, change: 'prepare' };
}

function decideComplete(
  command: ClickCommand,
  order: ClickOrder,
  { attempt, repeatedComplete }: Pick<ClickFacts, 'attempt' | 'repeatedComplete'>,
): Decided {
  const isKnown = attempt !== null && command.merchantPrepareId === String(attempt.number);
  if (order.state === 'paid') {
    if (attempt?.state === 'prepared' || attempt?.state === 'cancelled' || !attempt) return no(-4);
    if (!isKnown) return no(-6);
    // What is confirmed is cancelled by a reversal, never by a Complete.
    if (command.error < 0) return no(-4);
    return attempt.state === 'paid' ? { error: 0, change: 'acknowledge' } : no(repeatedComplete);
  }
  if (!isKnown) return no(-6);
  if (!isSameSum(command, order)) return no(-2);
  if (order.state === 'closed' || attempt.state !== 'prepared') return no(-9);
  if (command.error < 0) return failedAtClick(attempt);
  return { error: 0, change: 'confirm' };
}

/** 0.01 som is one tiyin: the smallest sum there is, so "equal" needs no tolerance beyond it. */
function isSameSum({ amountTiyin }: ClickCommand, order: ClickOrder): boolean {
  return amountTiyin !== null && Math.abs(amountTiyin - order.amountTiyin) <= 1;
}

function failedAtClick(attempt: ClickAttempt | null): Decided {
  return { error: -9, change: attempt?.state === 'prepared' ? 'cancel' : null };
}

function no(error: ClickError): Decided {
  return { error, change: null };
}
