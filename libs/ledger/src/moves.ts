import type { ReceiptStatus } from '#fiscal-domain';

/**
 * The legal moves of the ledger: from, to, who may, and the event that goes with it (`receipt.<event>`, of a refund
 * `refund.<event>`; null: none). Every statement that moves a receipt or an attempt takes its pair from here, so that an illegal one
 * does not compile (those of payments: PAYMENT_MOVES of libs/payments). The triggers `…_move_legally` hold the same pairs for every other writer (migration `moves_are_legal`);
 * test/database/moves-are-legal.int-spec.ts tries all of them.
 */

/** `client`: asks for it over the API. `payments`: the saga and the provider's calls. `restore`: the comparison after a restore. */
export type Mover = 'relay' | 'client' | 'payments' | 'operator' | 'restore';

export interface Move<State extends string> {
  from: State;
  to: State;
  by: readonly Mover[];
  event: string | null;
}

export const ATTEMPT_STATES = ['open', 'registered', 'rejected', 'not_registered', 'unknown'] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];

export const PAYMENT_REFUND_STATES = ['waiting', 'requested', 'done', 'dropped'] as const;
export type PaymentRefundState = (typeof PAYMENT_REFUND_STATES)[number];

export const RECEIPT_MOVES = [
  { from: 'awaiting_payment', to: 'accepted', by: ['payments'], event: 'accepted' },
  // By the provider's own document, where it fiscalises: no lane has such a receipt.
  { from: 'awaiting_payment', to: 'registered', by: ['payments'], event: 'registered' },
  { from: 'awaiting_payment', to: 'cancelled', by: ['payments'], event: 'cancelled' },
  { from: 'accepted', to: 'sending', by: ['relay'], event: null },
  // Only from here: an open attempt may already have reached the register. By the relay when the payment's hold has run out, or
  // when the module that sold is no longer in its register.
  { from: 'accepted', to: 'cancelled', by: ['client', 'payments', 'relay'], event: 'cancelled' },
  // By an answer that came after an operator had sent the receipt back: it proves itself, and must not be sent again
  // (docs/adr/0002-lane-lock.md).
  { from: 'accepted', to: 'registered', by: ['relay'], event: 'registered' },
  // Its register's module was replaced, or is met by the relay for the first time since (docs/adr/0016-adopting-a-module.md), or the database was
  // put back from a copy (docs/adr/0053-compared-after-restore.md): what an earlier attempt left there cannot be found by its key.
  { from: 'accepted', to: 'unknown', by: ['operator', 'relay', 'restore'], event: 'unknown' },
  // Nothing was sent: its register no longer takes what it must not lose (docs/adr/0046-fiscal-fields.md). Or a person, who had it sent again to a
  // register that is gone.
  { from: 'accepted', to: 'rejected', by: ['relay', 'operator'], event: 'rejected' },
  { from: 'sending', to: 'registered', by: ['relay'], event: 'registered' },
  { from: 'sending', to: 'rejected', by: ['relay'], event: 'rejected' },
  // Only when it is proven that the register did not register it.
  { from: 'sending', to: 'accepted', by: ['relay'], event: null },
  { from: 'sending', to: 'unknown', by: ['relay', 'operator', 'restore'], event: 'unknown' },
  // By an answer that came late, or by a person who read it from the register.
  { from: 'unknown', to: 'registered', by: ['relay', 'operator'], event: 'registered' },
  { from: 'unknown', to: 'accepted', by: ['operator', 'restore'], event: 'accepted' },
  // A person says that no register has it and that none shall get it: its own is gone.
  { from: 'unknown', to: 'rejected', by: ['operator'], event: 'rejected' },
] as const satisfies readonly Move<ReceiptStatus>[];

/** An attempt has no events of its own: its receipt's say what became of it. */
export const ATTEMPT_MOVES = [
  { from: 'open', to: 'registered', by: ['relay'], event: null },
  { from: 'open', to: 'rejected', by: ['relay'], event: null },
  { from: 'open', to: 'not_registered', by: ['relay'], event: null },
  { from: 'open', to: 'unknown', by: ['relay', 'operator', 'restore'], event: null },
  { from: 'unknown', to: 'registered', by: ['operator'], event: null },
  { from: 'unknown', to: 'not_registered', by: ['operator', 'restore'], event: null },
  // The module that could have been asked by key is gone: what was decided before is open again.
  { from: 'not_registered', to: 'unknown', by: ['operator', 'relay'], event: null },
] as const satisfies readonly Move<AttemptState>[];

/** What is to go back of a payment. That one is `dropped` its refund's receipt says; no row moves there. */
export const PAYMENT_REFUND_MOVES = [
  { from: 'waiting', to: 'done', by: ['payments', 'operator'], event: null },
  { from: 'requested', to: 'done', by: ['payments', 'operator'], event: null },
] as const satisfies readonly Move<PaymentRefundState>[];

/** The targets of the moves out of these states that this mover may make. */
export type ReceiptTarget<From extends ReceiptStatus, By extends Mover> = TargetOf<
  (typeof RECEIPT_MOVES)[number],
  From,
  By
>;
export type AttemptTarget<From extends AttemptState, By extends Mover> = TargetOf<
  (typeof ATTEMPT_MOVES)[number],
  From,
  By
>;
type TargetOf<Moves extends Move<string>, From extends string, By extends Mover> = Moves extends {
  from: From;
  by: readonly (infer Movers)[];
}
  ? By extends Movers
    ? Moves['to']
    : never
  : never;

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
  return RECEIPT_MOVES.some((move) => move.from === from && move.to === to);
}

/** @throws IllegalMoveError */
export function assertMove(from: ReceiptStatus, to: ReceiptStatus): void {
  if (!canMove(from, to)) throw new IllegalMoveError(from, to);
}

export function canMoveAttempt(from: AttemptState, to: AttemptState): boolean {
  return ATTEMPT_MOVES.some((move) => move.from === from && move.to === to);
}

/** No move leads out of it. */
export function isFinalStatus(status: ReceiptStatus): boolean {
  return RECEIPT_MOVES.every((move) => move.from !== status);
}
