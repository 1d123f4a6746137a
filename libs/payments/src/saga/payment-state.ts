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

/** The legal moves; the trigger `payments_move_legally` holds the same pairs for every writer. */
export const PAYMENT_MOVES: Readonly<Record<PaymentState, readonly PaymentState[]>> = {
  created: ['pending', 'authorizing', 'declined', 'expired', 'cancelled'],
  // Waits for the customer, or for the provider to call.
  pending: [
    ...(['reserved', 'authorizing', 'authorized', 'captured', 'voiding', 'refunded', 'declined', 'expired'] as const),
    ...(['cancelled', 'manual'] as const),
  ],
  // The provider has begun: it keeps the order for itself, or the money frozen until it receives our answer. Back to pending when it
  // gave up and the customer may try again.
  reserved: ['pending', 'captured', 'refunded', 'voided', 'declined', 'expired', 'cancelled', 'manual'],
  // Only while a call is open; found without its caller, it is treated as unknown.
  authorizing: ['created', 'pending', 'authorized', 'captured', 'declined', 'authorize_unknown', 'manual'],
  authorize_unknown: ['pending', 'authorized', 'captured', 'declined', 'voided', 'refunded', 'manual'],
  authorized: ['capturing', 'captured', 'voiding', 'voided', 'manual'],
  capturing: ['authorized', 'captured', 'capture_unknown', 'capture_refused', 'voided', 'manual'],
  capture_unknown: ['authorized', 'captured', 'capture_refused', 'voided', 'manual'],
  // The receipt is registered and its money cannot be had: the receipt is refunded, then the hold released.
  capture_refused: ['voiding', 'voided', 'manual'],
  captured: ['refunding', 'refunded', 'manual'],
  voiding: ['authorized', 'pending', 'capture_refused', 'captured', 'voided', 'void_unknown', 'manual'],
  void_unknown: ['authorized', 'pending', 'captured', 'voided', 'manual'],
  // Back to captured after a part was given back, or when nothing was sent.
  refunding: ['captured', 'refunded', 'refund_unknown', 'manual'],
  refund_unknown: ['captured', 'refunded', 'manual'],
  // A person of ours found out, with a reason on the audit trail.
  manual: ['captured', 'refunded', 'voided', 'declined'],
  // Money that shows up later, against all rules, is given back from here (comparison).
  voided: ['captured', 'authorized'],
  refunded: [],
  declined: ['captured', 'authorized'],
  expired: ['captured', 'authorized'],
  cancelled: ['captured', 'authorized'],
};

export class IllegalPaymentMoveError extends Error {
  constructor(
    readonly from: PaymentState,
    readonly to: PaymentState,
  ) {
    super(`A payment cannot move from ${from} to ${to}`);
    this.name = 'IllegalPaymentMoveError';
  }
}

export function canMovePayment(from: PaymentState, to: PaymentState): boolean {
  return PAYMENT_MOVES[from].includes(to);
}

/** @throws IllegalPaymentMoveError */
export function assertPaymentMove(from: PaymentState, to: PaymentState): void {
  if (!canMovePayment(from, to)) throw new IllegalPaymentMoveError(from, to);
}

/** No money of the customer is held or taken, and none will be. */
export function isWithoutMoney(state: PaymentState): boolean {
  return WITHOUT_MONEY.has(state);
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
