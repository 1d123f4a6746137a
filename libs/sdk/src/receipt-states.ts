import type { Schema } from './api-types.js';

type ReceiptView = Schema<'ReceiptView'>;
type Rejection = NonNullable<ReceiptView['rejection']>;
type Fiscal = NonNullable<ReceiptView['fiscal']>;
/** Every status of the description must find its place below, or this type no longer fits. */
type In<Status extends ReceiptView['status'], Fields> = Omit<ReceiptView, 'status' | 'fiscal' | 'rejection'> & {
  status: Status;
} & Fields;

/** A fiscal document exists. `fiscal_sign` is null for advances, credits, and what was proven by counters alone. */
export type RegisteredReceipt = In<'registered', { fiscal: Fiscal; rejection: null }>;
/** The register refused it; no document exists. */
export type RejectedReceipt = In<'rejected', { fiscal: null; rejection: Rejection | null }>;
/** Taken out of its lane before it was sent; no document exists. */
export type CancelledReceipt = In<'cancelled', { fiscal: null; rejection: null }>;
/** Stored, and on its way: the gateway finishes it without the caller. */
export type PendingReceipt = In<'accepted' | 'sending' | 'awaiting_payment', { fiscal: null; rejection: null }>;
/**
 * It cannot be proven whether the register made the document. A person decides; until then neither sell it again nor
 * treat it as not sold.
 */
export type UnknownReceipt = In<'unknown', { fiscal: null; rejection: null }>;

/** A receipt in any of its states. `status` says which; what a state does not have cannot be read from it. */
export type Receipt = RegisteredReceipt | RejectedReceipt | CancelledReceipt | PendingReceipt | UnknownReceipt;

/** What waiting ends with: nothing changes any more, or only a person can change it. */
export type SettledReceipt = Exclude<Receipt, PendingReceipt>;

const SETTLED: Readonly<Record<SettledReceipt['status'], true>> = {
  registered: true,
  rejected: true,
  cancelled: true,
  unknown: true,
};

/** Whether the gateway is done with it. `unknown` counts: what follows is a person's decision. */
export function isSettled(receipt: Receipt): receipt is SettledReceipt {
  return receipt.status in SETTLED;
}
