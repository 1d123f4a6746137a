import type { CallOutcome, MoneyStatus } from '../port.js';
import type { ProviderCall } from './next-step.js';
import { canMovePayment, type PaymentState } from './payment-state.js';

/** The state while a call is open: what a successor finds when the caller dies. Null: the call moves no money. */
export function stateDuring(call: ProviderCall): PaymentState | null {
  return DURING[call];
}

const DURING: Readonly<Record<ProviderCall, PaymentState | null>> = {
  prepare: null,
  authorize: 'authorizing',
  capture: 'capturing',
  void: 'voiding',
  refund: 'refunding',
  attach_link: null,
  read_status: null,
  submit_lines: null,
  fetch_document: null,
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
      return afterPrepare(after);
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

function afterPrepare({ before, outcome }: AfterCall): PaymentState {
  // Without an answer it is made again: alone it moves no money.
  if (outcome.kind === 'refused') return 'declined';
  return before;
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
  return status === 'manual' ? status : READ[groupOf(after.before)](status, after);
}

type Group = 'starting' | 'pending' | 'reserved' | 'capturing' | 'voiding' | 'refunding' | 'other';

function groupOf(state: PaymentState): Group {
  switch (state) {
    case 'authorizing':
    case 'authorize_unknown':
      return 'starting';
    case 'pending':
    case 'reserved':
      return state;
    case 'capturing':
    case 'capture_unknown':
      return 'capturing';
    case 'voiding':
    case 'void_unknown':
      return 'voiding';
    case 'refunding':
    case 'refund_unknown':
      return 'refunding';
    default:
      return 'other';
  }
}

/** The state that a status leads to, by what was under way; null: none yet. */
const READ: Readonly<Record<Group, (status: MoneyStatus, after: AfterCall) => PaymentState | null>> = {
  starting: (status, { isSettled }) => {
    switch (status) {
      case 'authorized':
      case 'captured':
      case 'declined':
      case 'refunded':
      case 'voided':
        return status;
      // Known there and nothing taken, long after: the request never reached the card.
      case 'pending':
      case 'not_found':
        return isSettled ? 'declined' : null;
      default:
        return null;
    }
  },
  pending: (status) => {
    switch (status) {
      case 'reserved':
      case 'authorized':
      case 'captured':
      case 'declined':
      case 'refunded':
        return status;
      case 'voided':
        return 'cancelled';
      default:
        return null;
    }
  },
  reserved: (status) => {
    switch (status) {
      case 'captured':
      case 'refunded':
      case 'voided':
      case 'declined':
        return status;
      default:
        return null;
    }
  },
  capturing: (status) => {
    switch (status) {
      case 'captured':
      case 'authorized':
        return status;
      case 'voided':
      case 'refunded':
        return 'voided';
      case 'declined':
        return 'capture_refused';
      default:
        return null;
    }
  },
  voiding: (status, { isSettled }) => {
    switch (status) {
      case 'voided':
      case 'refunded':
      case 'declined':
        return 'voided';
      // Not released: it may be asked again once nothing can be under way any more.
      case 'authorized':
      case 'pending':
        return isSettled ? status : null;
      // Taken before it could be released: saga of money without a receipt.
      case 'captured':
        return isSettled ? 'captured' : null;
      case 'not_found':
        return isSettled ? 'voided' : null;
      default:
        return null;
    }
  },
  refunding: (status, { isWholeRefund, isRefundSeen, isSettled }) => {
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
  },
  other: () => null,
};
