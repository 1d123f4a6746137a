import { RECEIPT_STATUSES } from '#fiscal-domain';
import { PAYMENT_MOVES, PAYMENT_STATES } from '#payments';
import {
  ATTEMPT_MOVES,
  ATTEMPT_STATES,
  PAYMENT_REFUND_MOVES,
  PAYMENT_REFUND_STATES,
  RECEIPT_MOVES,
  type Move,
} from './moves.js';

export interface LegalPairs {
  table: string;
  column: string;
  states: readonly string[];
  pairs: readonly (readonly [from: string, to: string])[];
}

/** By table and its column of states: what the triggers of the migration `moves_are_legal` hold. */
export const LEGAL_PAIRS: readonly LegalPairs[] = [
  { table: 'receipts', column: 'status', states: RECEIPT_STATUSES, pairs: pairsOf(RECEIPT_MOVES) },
  { table: 'attempts', column: 'state', states: ATTEMPT_STATES, pairs: pairsOf(ATTEMPT_MOVES) },
  { table: 'payments', column: 'state', states: PAYMENT_STATES, pairs: pairsOf(PAYMENT_MOVES) },
  { table: 'payment_refunds', column: 'state', states: PAYMENT_REFUND_STATES, pairs: pairsOf(PAYMENT_REFUND_MOVES) },
];

function pairsOf(moves: readonly Pick<Move<string>, 'from' | 'to'>[]): (readonly [string, string])[] {
  return moves.map(({ from, to }) => [from, to] as const);
}
