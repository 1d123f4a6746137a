/** Life of a receipt (design: one table, conditional moves in the database use the same pairs). */
export const RECEIPT_STATUSES = [
  'awaiting_payment',
  'accepted',
  'sending',
  'registered',
  'rejected',
  'unknown',
  'cancelled',
] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

const MOVES: Readonly<Record<ReceiptStatus, readonly ReceiptStatus[]>> = {
  // Registered from here by the payment provider, where it fiscalises: no lane has such a receipt.
  awaiting_payment: ['accepted', 'registered', 'cancelled'],
  // Cancelled only here: an open attempt may already have reached the register.
  // Registered from here only by an answer that came after an operator had sent the receipt back: it proves itself, and
  // must not be sent again (docs/adr/0002-lane-lock.md). Unknown from here only when its register's module was replaced:
  // what an earlier attempt left there cannot be found by its key any more (docs/adr/0016-adopting-a-module.md).
  // Rejected from here, and nothing sent, when its register no longer takes what it must not lose (docs/adr/0046-fiscal-fields.md).
  accepted: ['sending', 'cancelled', 'registered', 'unknown', 'rejected'],
  // Back to accepted only when it is proven that the register did not register it.
  sending: ['registered', 'rejected', 'accepted', 'unknown'],
  registered: [],
  rejected: [],
  // By evidence, or by an operator with a reason.
  unknown: ['registered', 'accepted', 'rejected'],
  cancelled: [],
};

export class IllegalMoveError extends Error {
  constructor(
    readonly from: ReceiptStatus,
    readonly to: ReceiptStatus,
  ) {
    super(`A receipt cannot move from ${from} to ${to}`);
    this.name = 'IllegalMoveError';
  }
}

export function canMove(from: ReceiptStatus, to: ReceiptStatus): boolean {
  return MOVES[from].includes(to);
}

/** @throws IllegalMoveError */
export function assertMove(from: ReceiptStatus, to: ReceiptStatus): void {
  if (!canMove(from, to)) throw new IllegalMoveError(from, to);
}

/** No move leads out of it. */
export function isFinalStatus(status: ReceiptStatus): boolean {
  return MOVES[status].length === 0;
}
