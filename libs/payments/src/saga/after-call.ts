import type { CallOutcome, MoneyStatus } from '../port.js';
import type { ProviderCall } from './next-step.js';
import { canMovePayment, type PaymentState } from './payment-state.js';

/** The state while a call is open: what a successor finds when the caller dies. Null: the call moves no money. */
export function stateDuring(call: ProviderCall): PaymentState | null {
  return DURING[call] ?? null;
}

const DURING: Readonly<Partial<Record<ProviderCall, PaymentState>>> = {
  authorize: 'authorizing',
  capture: 'capturing',
  void: 'voiding',
  refund: 'refunding',
};

export interface AfterCall {
  /** As it was when the call was decided on. */
  before: PaymentState;
  outcome: CallOutcome;
  /** A status of `not_found` counts as "never arrived" only when this long has passed without a trace. */
  isSettled: boolean;
  /** What was taken, and what is given back by the open refund: parts lead back to `captured`. */
  isWholeRefund: boolean;
  /** Whether the provider's sums show the open refund; null: they do not say, or say something odd. */
  isRefundSeen: boolean | null;
}

/**
 * Where a payment stands after a call was answered or not. Whatever is odd is unknown: never success, never failure.
 * @returns the same state when nothing was learned
 */
export function afterCall(call: ProviderCall, after: AfterCall): PaymentState {
  switch (call) {
    case 'prepare':
      // Without an answer it is made again: alone it moves no money.
      return after.outcome.kind === 'refused' ? 'declined' : after.before;
    case 'attach_link':
    case 'submit_lines':
    case 'fetch_document':
      return after.before;
    case 'read_status':
      return afterLostCall(after.before, afterReading(after));
    case 'authorize':
    case 'capture':
    case 'void':
    case 'refund':
      return afterMoneyCall(call, after);
  }
}

type MoneyCall = 'authorize' | 'capture' | 'void' | 'refund';

const UNKNOWN: Readonly<Record<MoneyCall, PaymentState>> = {
  authorize: 'authorize_unknown',
  capture: 'capture_unknown',
  void: 'void_unknown',
  refund: 'refund_unknown',
};
/** A call whose caller has died is as little answered as one that ran out of time, until a reading says what it did. */
const UNANSWERED: Readonly<Partial<Record<PaymentState, PaymentState>>> = {
  authorizing: 'authorize_unknown',
  capturing: 'capture_unknown',
  voiding: 'void_unknown',
  refunding: 'refund_unknown',
};

/** What was read decides, in two steps where no move leads there from the call's own state: a hold that was made and is gone again by then. */
function afterLostCall(before: PaymentState, read: PaymentState | null): PaymentState {
  const unanswered = UNANSWERED[before] ?? before;
  return read !== null && (read === before || canMovePayment(before, read, 'worker')) ? read : unanswered;
}

/** A refused void shows that the payment is not as recorded here: the status is read. */
const REFUSED: Readonly<Record<MoneyCall, PaymentState>> = {
  authorize: 'declined',
  capture: 'capture_refused',
  void: 'void_unknown',
  refund: 'manual',
};

function afterMoneyCall(call: MoneyCall, after: AfterCall): PaymentState {
  const { outcome, before } = after;
  if (outcome.kind === 'unsent') return before;
  if (outcome.kind === 'unknown') return UNKNOWN[call];
  if (outcome.kind === 'refused') return REFUSED[call];
  const { status } = outcome;
  if (status === 'manual') return 'manual';
  return AFTER_ANSWER[call](status, after) ?? UNKNOWN[call];
}

/** What a call's own answer may say; anything else has to be read. */
const AFTER_ANSWER: Readonly<Record<MoneyCall, (status: MoneyStatus, after: AfterCall) => PaymentState | null>> = {
  authorize: (status) => {
    if (status === 'authorized' || status === 'captured' || status === 'pending' || status === 'declined')
      return status;
    return null;
  },
  capture: (status) => (status === 'captured' ? 'captured' : null),
  void: (status) => (status === 'voided' || status === 'refunded' ? 'voided' : null),
  refund: (status, { isWholeRefund }) => {
    if (status === 'refunded') return isWholeRefund ? 'refunded' : 'captured';
    return null;
  },
};

/** @returns null: nothing was learned */
function afterReading(after: AfterCall): PaymentState | null {
  if (after.outcome.kind !== 'status') return null;
  const { status } = after.outcome;
  if (status === 'manual') return status;
  if (after.before === 'refunding' || after.before === 'refund_unknown') return afterRefunding(status, after);
  const read = READ[after.before];
  return read?.once[status] ?? (after.isSettled ? read?.settled?.[status] : null) ?? null;
}

type Reading = Readonly<Partial<Record<MoneyStatus, PaymentState>>>;

/** The state that a status leads to; what is named in neither says nothing yet. */
interface Readings {
  once: Reading;
  /** As soon as nothing can be under way any more. */
  settled?: Reading;
}

const STARTING: Readings = {
  once: {
    ...{ authorized: 'authorized', captured: 'captured', declined: 'declined' },
    ...{ refunded: 'refunded', voided: 'voided' },
  },
  // Known there and nothing taken, long after: the request never reached the card.
  settled: { pending: 'declined', not_found: 'declined' },
};
const CAPTURING: Readings = {
  once: {
    ...{ captured: 'captured', authorized: 'authorized', voided: 'voided', refunded: 'voided' },
    declined: 'capture_refused',
  },
};
const VOIDING: Readings = {
  once: { voided: 'voided', refunded: 'voided', declined: 'voided' },
  settled: {
    // Not released: it may be asked again.
    ...{ authorized: 'authorized', pending: 'pending' },
    // Taken before it could be released: saga of money without a receipt.
    captured: 'captured',
    not_found: 'voided',
  },
};

/** By what was under way; of any other state nothing is learned. */
const READ: Readonly<Partial<Record<PaymentState, Readings>>> = {
  authorizing: STARTING,
  authorize_unknown: STARTING,
  pending: {
    once: {
      ...{ reserved: 'reserved', authorized: 'authorized', captured: 'captured', declined: 'declined' },
      ...{ refunded: 'refunded', voided: 'cancelled' },
    },
  },
  reserved: { once: { captured: 'captured', refunded: 'refunded', voided: 'voided', declined: 'declined' } },
  capturing: CAPTURING,
  capture_unknown: CAPTURING,
  voiding: VOIDING,
  void_unknown: VOIDING,
};

function afterRefunding(
  status: MoneyStatus,
  { isWholeRefund, isRefundSeen, isSettled }: AfterCall,
): PaymentState | null {
  // "Given back" beside a sum that says otherwise: neither is taken for true, and the money is not sent twice.
  if (isRefundSeen === false && status === 'refunded') return isSettled ? 'manual' : null;
  // Some providers report what was given back as failed. All of it gone where a part was asked for: a person decides.
  if (status === 'refunded' || status === 'voided' || status === 'declined')
    return isWholeRefund ? 'refunded' : 'manual';
  if (status !== 'captured') return null;
  if (isRefundSeen === true) return isWholeRefund ? 'refunded' : 'captured';
  if (!isSettled) return null;
  // Only what is proven not to have happened may be asked for again.
  return isRefundSeen === false ? 'captured' : 'manual';
}
