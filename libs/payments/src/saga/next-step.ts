import type { ReceiptStatus } from '#fiscal-domain';
import type { PaymentFlow } from '../port.js';
import type { PaymentState } from './payment-state.js';

/** Everything about a payment and its receipt that decides what happens next. */
export interface SagaSnapshot {
  flow: PaymentFlow;
  state: PaymentState;
  receipt: ReceiptStatus;
  /**
   * The sale's refund receipts, taken together over its whole sum. `failed`: refused by the register. `partial`: of several sales of one
   * payment some are refunded, or being so, and of others no refund was asked for.
   */
  fiscalRefund: 'none' | 'partial' | 'pending' | 'registered' | 'failed';
  /** A person has said that the receipts stay without this money. */
  isReceiptKept: boolean;
  /** Receipts are refunded whose money is neither back nor asked for. */
  isRefundedAhead: boolean;
  /** A sum is to be given back and has not been asked of the provider yet. */
  refundRequested: boolean;
  /** It is older than a restore of the database: it may have been asked for in the time that is lost. */
  mayBeBack: boolean;
  /** The same of the payment's money, where asking for it anew could take it twice. */
  mayBeCharged: boolean;
  /** It is older than a restore of the database. */
  isOfCopy: boolean;
  /** Its provider can be asked about it by our own id. */
  isFoundByOurRef: boolean;
  /** Whether we can ask the provider to give money back. */
  canRefund: boolean;
  /** The provider knows the payment by an id that we have, or needs none. */
  isPrepared: boolean;
  /** `none`: the provider takes no link. */
  link: 'none' | 'missing' | 'attached';
  /** Who registers the receipt: our own register, or the provider, which is then never given to a lane. */
  fiscalisedBy: 'register' | 'provider';
  /** The provider's own documents, where it registers. */
  documents: ProviderDocuments;
  /** A code that the provider has sent to the customer: `given` is to be tried. */
  code: 'none' | 'awaited' | 'given';
  /** The merchant wants to say when the sale is made. */
  waitsForCapture: boolean;
  cancelRequested: boolean;
  /** The customer, or the hold, has no time left to begin anything new. */
  outOfTime: boolean;
}

export interface ProviderDocuments {
  /** `submit`: the lines have to be handed in. `fetch`: we ask for it. `await`: the provider reports it. */
  next: 'submit' | 'fetch' | 'await';
  /** The same for the refund's, once the money is back. */
  nextRefund: 'fetch' | 'await';
  /** What is known of the sale's and of the refund's, and is not yet on our receipts. */
  sale: boolean;
  refund: boolean;
  /** The money went back so long ago that no document of the sale will come. */
  isOverdue: boolean;
}

/** Calls to the provider; each is written down before it is made. */
export type ProviderCall =
  | 'prepare'
  | 'authorize'
  | 'capture'
  | 'void'
  | 'refund'
  | 'attach_link'
  | 'read_status'
  | 'submit_lines'
  | 'fetch_document';

export type SagaStep =
  | { kind: 'call'; call: ProviderCall }
  /** No provider is called. */
  | { kind: 'move'; to: PaymentState }
  /** awaiting_payment → accepted: the lane may have it. */
  | { kind: 'release_receipt' }
  /** awaiting_payment → registered by the provider's document: the sale, or the refund of it. */
  | { kind: 'register_receipt'; document: 'sale' | 'refund' }
  /** awaiting_payment or accepted → cancelled, if it still is. */
  | { kind: 'cancel_receipt' }
  | { kind: 'start_fiscal_refund' }
  /** Writes down that all of the money must go back. */
  | { kind: 'request_refund' }
  /** captured → refunding without a call: its status is read first. */
  | { kind: 'presume_refund_asked' }
  /** For the customer, the provider's call or the register. */
  | { kind: 'wait'; for: 'customer' | 'provider' | 'register' | 'merchant' }
  /** Only a person can go on. */
  | { kind: 'operator'; reason: string }
  | { kind: 'done' };

const call = (name: ProviderCall): SagaStep => ({ kind: 'call', call: name });
const move = (to: PaymentState): SagaStep => ({ kind: 'move', to });
const waitFor = (what: 'customer' | 'provider' | 'register' | 'merchant'): SagaStep => ({ kind: 'wait', for: what });
const operator = (reason: string): SagaStep => ({ kind: 'operator', reason });
const DONE: SagaStep = { kind: 'done' };

/** The saga: a pure function of what is known, asked again after every step and every piece of news. */
export function nextStep(now: SagaSnapshot): SagaStep {
  const own = now.fiscalisedBy === 'provider' ? BY_PROVIDER[now.state] : undefined;
  return (own ?? STEPS[now.state])(now);
}

const STEPS: Readonly<Record<PaymentState, (now: SagaSnapshot) => SagaStep>> = {
  created: (now) => {
    // As if it had been asked for and not been answered: never twice on a guess, and what was taken does not end by a clock or a wish.
    if (now.mayBeCharged && now.flow !== 'inbound') return move('authorizing');
    // It may be paid by now: released there by our id it is found, or closed.
    const isOver = now.cancelRequested || now.outOfTime;
    if (isOver && now.isOfCopy && now.isFoundByOurRef && now.flow !== 'inbound') return move('pending');
    if (now.cancelRequested) return move('cancelled');
    if (now.outOfTime) return move('expired');
    if (now.flow === 'inbound') return move('pending');
    if (!now.isPrepared) return call('prepare');
    return now.flow === 'veto' || now.code === 'awaited' ? move('pending') : call('authorize');
  },
  pending: whilePending,
  reserved: whileReserved,
  // A call is open: its caller is at work, or has died and what it did is unknown.
  authorizing: () => call('read_status'),
  authorize_unknown: () => call('read_status'),
  authorized: whileAuthorized,
  capturing: () => call('read_status'),
  capture_unknown: () => call('read_status'),
  capture_refused: (now) => (now.receipt === 'registered' && !isReceiptDone(now) ? refundReceipt(now) : call('void')),
  captured: whileCaptured,
  voiding: () => call('read_status'),
  void_unknown: () => call('read_status'),
  refunding: () => call('read_status'),
  refund_unknown: () => call('read_status'),
  voided: withoutMoney,
  refunded: withoutMoney,
  declined: withoutMoney,
  expired: withoutMoney,
  cancelled: withoutMoney,
  manual: () => operator('The provider handles this payment by hand; say what became of it.'),
};

function whilePending(now: SagaSnapshot): SagaStep {
  const isOver = now.cancelRequested || now.outOfTime;
  // The provider may begin at any moment: what is not reserved can be closed here; its call is then refused.
  if (now.flow === 'inbound') {
    if (!isOver) return waitFor('customer');
    return move(now.cancelRequested ? 'cancelled' : 'expired');
  }
  // A hold that was to be released and is still waiting there must not be begun again.
  if (isOver || now.receipt !== 'awaiting_payment') return call('void');
  if (now.code === 'awaited') return waitFor('customer');
  return call(now.code === 'given' ? 'authorize' : 'read_status');
}

function whileReserved(now: SagaSnapshot): SagaStep {
  if (now.flow !== 'veto') {
    // Closed here: the provider is refused when it wants to take the money, and closes it there.
    if (now.cancelRequested) return move('cancelled');
    return now.outOfTime ? move('expired') : waitFor('provider');
  }
  switch (now.receipt) {
    case 'awaiting_payment':
      return now.cancelRequested || now.outOfTime ? { kind: 'cancel_receipt' } : { kind: 'release_receipt' };
    case 'accepted':
      return now.cancelRequested ? { kind: 'cancel_receipt' } : waitFor('register');
    case 'sending':
    case 'unknown':
      return waitFor('register');
    // The provider receives our verdict when it asks; what it made of it is read there.
    case 'registered':
    case 'rejected':
    case 'cancelled':
      return call('read_status');
  }
}

function whileAuthorized(now: SagaSnapshot): SagaStep {
  switch (now.receipt) {
    case 'awaiting_payment':
      if (now.cancelRequested || now.outOfTime) return { kind: 'cancel_receipt' };
      return now.waitsForCapture ? waitFor('merchant') : { kind: 'release_receipt' };
    case 'accepted':
      return now.cancelRequested || now.outOfTime ? { kind: 'cancel_receipt' } : waitFor('register');
    case 'sending':
      return waitFor('register');
    // It may be registered or not, and the hold ends: rather a receipt to refund than money without a receipt.
    case 'unknown':
      return now.outOfTime ? call('void') : waitFor('register');
    case 'registered':
      // A receipt that was refunded meanwhile (the capture was refused once) is not to be paid for any more.
      if (now.isReceiptKept) return call('void');
      if (now.fiscalRefund === 'none') return call('capture');
      return now.fiscalRefund === 'registered' ? call('void') : refundReceipt(now);
    case 'rejected':
    case 'cancelled':
      return call('void');
  }
}

function whileCaptured(now: SagaSnapshot): SagaStep {
  if (now.refundRequested) {
    if (!now.canRefund) return operator('Only the provider can give this money back.');
    return now.mayBeBack ? { kind: 'presume_refund_asked' } : call('refund');
  }
  switch (now.receipt) {
    case 'awaiting_payment':
      // One of a copy may be registered: its lane asks the register, and what was sold is refunded as a sale.
      return now.cancelRequested && !now.isOfCopy ? { kind: 'cancel_receipt' } : { kind: 'release_receipt' };
    case 'accepted':
      return now.cancelRequested ? { kind: 'cancel_receipt' } : waitFor('register');
    case 'sending':
    case 'unknown':
      return waitFor('register');
    case 'registered':
      // Also of what was found to be taken after a person had said that the receipt was paid otherwise.
      if (now.fiscalRefund === 'registered' || now.isReceiptKept) return { kind: 'request_refund' };
      if (now.link === 'missing') return call('attach_link');
      // Nothing here says whose doing that was: no money is sent on a guess.
      return now.isRefundedAhead ? operator('More of the receipt was refunded than of its money.') : DONE;
    case 'rejected':
    case 'cancelled':
      return { kind: 'request_refund' };
  }
}

/** No money, so there must be no receipt either, or one that was refunded. */
function withoutMoney(now: SagaSnapshot): SagaStep {
  switch (now.receipt) {
    case 'awaiting_payment':
    case 'accepted':
      return { kind: 'cancel_receipt' };
    case 'sending':
    case 'unknown':
      return waitFor('register');
    case 'registered':
      return isReceiptDone(now) ? DONE : refundReceipt(now);
    case 'rejected':
    case 'cancelled':
      return DONE;
  }
}

/** Nothing is left to be done about a receipt without money. */
function isReceiptDone({ fiscalRefund, isReceiptKept }: SagaSnapshot): boolean {
  return fiscalRefund === 'registered' || (isReceiptKept && fiscalRefund !== 'pending');
}

function refundReceipt({ fiscalRefund }: SagaSnapshot): SagaStep {
  if (fiscalRefund === 'none' || fiscalRefund === 'partial') return { kind: 'start_fiscal_refund' };
  if (fiscalRefund === 'failed') return operator('The register refused the refund of a receipt without money.');
  return waitFor('register');
}

/** Where the provider registers the receipt, it does so with the money: there is no lane to wait for. */
const BY_PROVIDER: Partial<Record<PaymentState, (now: SagaSnapshot) => SagaStep>> = {
  // The order was checked when the provider asked; the answer was that the money may stay. The provider registers the sale.
  reserved: (now) => (now.flow === 'veto' ? call('read_status') : whileReserved(now)),
  authorized: (now) => {
    if (now.receipt === 'cancelled' || now.isReceiptKept) return call('void');
    if (now.receipt === 'awaiting_payment') {
      if (now.cancelRequested || now.outOfTime) return { kind: 'cancel_receipt' };
      if (now.waitsForCapture) return waitFor('merchant');
    }
    return call('capture');
  },
  captured: capturedByProvider,
  voided: backByProvider,
  refunded: backByProvider,
  declined: backByProvider,
  expired: backByProvider,
  cancelled: backByProvider,
};

function capturedByProvider(now: SagaSnapshot): SagaStep {
  if (now.refundRequested) return whileCaptured(now);
  switch (now.receipt) {
    case 'awaiting_payment':
      if (now.documents.sale) return { kind: 'register_receipt', document: 'sale' };
      return now.cancelRequested ? { kind: 'request_refund' } : documentStep(now);
    case 'registered':
      return now.fiscalRefund === 'registered' || now.isReceiptKept ? { kind: 'request_refund' } : DONE;
    default:
      return { kind: 'request_refund' };
  }
}

function documentStep({ documents }: SagaSnapshot): SagaStep {
  if (documents.next === 'submit') return call('submit_lines');
  return documents.next === 'fetch' ? call('fetch_document') : waitFor('provider');
}

/** What was taken may have been registered before it went back: its document is awaited, and then the refund's. */
function backByProvider(now: SagaSnapshot): SagaStep {
  switch (now.receipt) {
    case 'awaiting_payment':
      if (now.documents.sale) return { kind: 'register_receipt', document: 'sale' };
      if (now.state !== 'refunded' || now.documents.isOverdue || now.documents.next === 'submit')
        return { kind: 'cancel_receipt' };
      return documentStep(now);
    case 'registered':
      if (isReceiptDone(now)) return DONE;
      if (now.fiscalRefund === 'none') return { kind: 'start_fiscal_refund' };
      if (now.documents.refund) return { kind: 'register_receipt', document: 'refund' };
      return now.documents.nextRefund === 'fetch' ? call('fetch_document') : waitFor('provider');
    default:
      return DONE;
  }
}
