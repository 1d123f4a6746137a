/** Where the money of a payment is, as far as we know (docs/payments.md). */
export const PAYMENT_STATES = [
  'created',
  'pending',
  'reserved',
  'authorizing',
  'authorize_unknown',
  'authorized',
  'capturing',
  'capture_unknown',
  'capture_refused',
  'captured',
  'voiding',
  'void_unknown',
  'voided',
  'refunding',
  'refund_unknown',
  'refunded',
  'declined',
  'expired',
  'cancelled',
  'manual',
] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/**
 * Who moves a payment. `worker`: the saga, which holds the lease. `provider`: a call of the provider that arrives here, with the row's lock.
 * `comparison`: what the provider says of a payment that had ended. `operator`: a person of ours, with a reason on the audit trail.
 */
export type PaymentMover = 'worker' | 'provider' | 'comparison' | 'operator';

export interface PaymentMove {
  from: PaymentState;
  to: PaymentState;
  by: readonly PaymentMover[];
}

const WORKER = ['worker'] as const;
const CALLED = ['worker', 'provider'] as const;
const DECIDED = ['worker', 'operator'] as const;
const HEALED = ['comparison'] as const;
/** A call, or a person where the provider has not said what became of ours. */
const FOUND_OUT = ['worker', 'provider', 'operator'] as const;

/** The legal moves; the trigger `payments_move_legally` holds the same pairs for every writer. */
export const PAYMENT_MOVES: readonly PaymentMove[] = [
  ...moves('created', WORKER, ['pending', 'authorizing', 'declined', 'expired', 'cancelled']),
  // Waits for the customer, or for the provider to call.
  ...moves('pending', CALLED, ['reserved', 'refunded']),
  ...moves('pending', WORKER, ['authorizing', 'authorized', 'voiding', 'expired', 'cancelled', 'manual']),
  // By a person where our calls are not taken any more: a key that was revoked.
  ...moves('pending', FOUND_OUT, ['captured']),
  ...moves('pending', DECIDED, ['declined']),
  // The provider has begun: it keeps the order for itself, or the money frozen until it receives our answer. Back to pending when it
  // gave up and the customer may try again. By a person where the provider leaves it to us.
  ...moves('reserved', CALLED, ['pending']),
  ...moves('reserved', FOUND_OUT, ['captured', 'refunded']),
  ...moves('reserved', DECIDED, ['voided', 'declined']),
  ...moves('reserved', WORKER, ['expired', 'cancelled', 'manual']),
  // Only while a call is open; found without its caller, it is treated as unknown.
  ...moves('authorizing', CALLED, ['pending', 'captured']),
  ...moves('authorizing', WORKER, ['created', 'authorized', 'declined', 'authorize_unknown', 'manual']),
  ...moves('authorize_unknown', CALLED, ['pending']),
  ...moves('authorize_unknown', FOUND_OUT, ['captured', 'refunded']),
  ...moves('authorize_unknown', DECIDED, ['declined', 'voided']),
  ...moves('authorize_unknown', WORKER, ['authorized', 'manual']),
  // By a person where neither capture nor release is taken.
  ...moves('authorized', ['worker', 'comparison', 'operator'], ['voided']),
  ...moves('authorized', FOUND_OUT, ['captured']),
  ...moves('authorized', WORKER, ['capturing', 'voiding', 'manual']),
  ...moves('capturing', CALLED, ['captured']),
  ...moves('capturing', WORKER, ['authorized', 'capture_unknown', 'capture_refused', 'voided', 'manual']),
  ...moves('capture_unknown', FOUND_OUT, ['captured']),
  ...moves('capture_unknown', DECIDED, ['voided']),
  ...moves('capture_unknown', WORKER, ['authorized', 'capture_refused', 'manual']),
  // The receipt is registered and its money cannot be had: the receipt is refunded, then the hold released.
  ...moves('capture_refused', WORKER, ['voiding', 'manual']),
  ...moves('capture_refused', DECIDED, ['voided']),
  ...moves('captured', WORKER, ['refunding', 'manual']),
  // By a person where only the provider gives money back, or our refund is not taken.
  ...moves('captured', ['worker', 'provider', 'comparison', 'operator'], ['refunded']),
  ...moves('voiding', CALLED, ['pending', 'captured']),
  ...moves('voiding', WORKER, ['authorized', 'capture_refused', 'voided', 'void_unknown', 'manual']),
  ...moves('void_unknown', CALLED, ['pending']),
  ...moves('void_unknown', FOUND_OUT, ['captured']),
  ...moves('void_unknown', DECIDED, ['voided']),
  ...moves('void_unknown', WORKER, ['authorized', 'manual']),
  // Back to captured after a part was given back, or when nothing was sent.
  ...moves('refunding', CALLED, ['captured', 'refunded']),
  ...moves('refunding', WORKER, ['refund_unknown', 'manual']),
  ...moves('refund_unknown', FOUND_OUT, ['captured', 'refunded']),
  ...moves('refund_unknown', WORKER, ['manual']),
  // A person of ours found out.
  ...moves('manual', ['operator'], ['captured', 'refunded', 'voided', 'declined']),
  // Money that shows up later, against all rules, is given back from here.
  ...moves('voided', HEALED, ['captured', 'authorized']),
  ...moves('declined', HEALED, ['captured', 'authorized']),
  ...moves('expired', HEALED, ['captured', 'authorized']),
  ...moves('cancelled', HEALED, ['captured', 'authorized']),
];

function moves(from: PaymentState, by: readonly PaymentMover[], to: readonly PaymentState[]): PaymentMove[] {
  return to.map((target) => ({ from, to: target, by }));
}

const BY_PAIR: ReadonlyMap<string, PaymentMove> = new Map(
  PAYMENT_MOVES.map((move) => [`${move.from} ${move.to}`, move]),
);

export class IllegalPaymentMoveError extends Error {
  constructor(
    readonly from: PaymentState,
    readonly to: PaymentState,
    readonly by: PaymentMover,
  ) {
    super(`A payment is not moved from ${from} to ${to} by the ${by}`);
    this.name = 'IllegalPaymentMoveError';
  }
}

export function canMovePayment(from: PaymentState, to: PaymentState, by: PaymentMover): boolean {
  return BY_PAIR.get(`${from} ${to}`)?.by.includes(by) ?? false;
}

/** @throws IllegalPaymentMoveError */
export function assertPaymentMove(from: PaymentState, to: PaymentState, by: PaymentMover): void {
  if (!canMovePayment(from, to, by)) throw new IllegalPaymentMoveError(from, to, by);
}

/** No money of the customer is held or taken, and none will be. */
export function isWithoutMoney(state: PaymentState): boolean {
  return WITHOUT_MONEY.has(state);
}

/** Nothing is taken with a token, a phone or a code any more, by whichever way the payment came there. */
export function needsNoInstrument(state: PaymentState): boolean {
  return state === 'captured' || isWithoutMoney(state);
}

/** The customer's money is held, or may be, and is neither taken nor released. */
export function isMoneyHeld(state: PaymentState): boolean {
  return HELD.has(state);
}

const HELD: ReadonlySet<PaymentState> = new Set([
  'reserved',
  'authorizing',
  'authorize_unknown',
  'authorized',
  'capturing',
  'capture_unknown',
  'capture_refused',
  'voiding',
  'void_unknown',
]);
const WITHOUT_MONEY: ReadonlySet<PaymentState> = new Set(['voided', 'refunded', 'declined', 'expired', 'cancelled']);
