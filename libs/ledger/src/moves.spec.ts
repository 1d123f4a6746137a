// Promise: a receipt moves only along the legal moves; nothing that may be registered is ever cancelled or sent again.
import { RECEIPT_STATUSES } from '#fiscal-domain';
import { LEGAL_PAIRS } from './legal-pairs.js';
import { assertMove, canMove, IllegalMoveError, isFinalStatus, RECEIPT_MOVES } from './moves.js';

const LEGAL = new Set([
  'awaiting_payment→accepted',
  'awaiting_payment→registered',
  'awaiting_payment→cancelled',
  'accepted→sending',
  'accepted→cancelled',
  'accepted→registered',
  'accepted→unknown',
  'accepted→rejected',
  'sending→registered',
  'sending→rejected',
  'sending→accepted',
  'sending→unknown',
  'unknown→registered',
  'unknown→accepted',
  'unknown→rejected',
]);

const PAIRS = RECEIPT_STATUSES.flatMap((from) => RECEIPT_STATUSES.map((to) => [from, to] as const));

test('the table has all 49 pairs, each legal move among them', () => {
  expect(PAIRS).toHaveLength(49);
  expect(PAIRS.filter(([from, to]) => LEGAL.has(`${from}→${to}`))).toHaveLength(LEGAL.size);
});

test.each(PAIRS)('%s → %s', (from, to) => {
  const legal = LEGAL.has(`${from}→${to}`);
  expect(canMove(from, to)).toBe(legal);
  if (legal) expect(() => assertMove(from, to)).not.toThrow();
  else expect(() => assertMove(from, to)).toThrow(new IllegalMoveError(from, to));
});

test('an illegal move says from where to where', () => {
  expect(() => assertMove('sending', 'cancelled')).toThrow('A receipt cannot move from sending to cancelled');
});

test('registered, rejected and cancelled are final', () => {
  expect(RECEIPT_STATUSES.filter(isFinalStatus)).toEqual(['registered', 'rejected', 'cancelled']);
});

test('no pair stands twice, and no move leads to where it begins', () => {
  for (const { pairs } of LEGAL_PAIRS) {
    expect(new Set(pairs.map((pair) => pair.join('→'))).size).toBe(pairs.length);
    expect(pairs.filter(([from, to]) => from === to)).toEqual([]);
  }
});

test('a move that is announced has the event of where it leads', () => {
  for (const { to, event } of RECEIPT_MOVES) expect([null, to]).toContain(event);
});
