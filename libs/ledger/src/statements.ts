import { Prisma, type PrismaService } from '#database';
import type { ReceiptStatus } from '#fiscal-domain';
import {
  ATTEMPT_MOVES,
  RECEIPT_MOVES,
  type AttemptState,
  type AttemptTarget,
  type Move,
  type Mover,
  type ReceiptTarget,
} from './moves.js';

/** One statement, on a pool or within a transaction. */
export type Statements = Pick<Prisma.TransactionClient, '$queryRaw' | '$executeRaw'>;
/** For the few statements that every receipt passes (docs/adr/0018-hot-statements.md). */
export type HotStatements = Pick<PrismaService, 'queryHot'>;

/**
 * The parts of a conditional UPDATE that a move decides: `set` after SET, `from` in WHERE. They are made once, when the module is
 * loaded; a pair or a mover that the table does not have neither compiles nor loads.
 *
 * The id finds the row, so states are compared as text: written otherwise they would fit the small indexes of what is under way, and
 * a planner that takes these to be empty reads them from end to end (docs/adr/0060-lane-reads.md).
 */
export interface MoveParts {
  readonly set: Prisma.Sql;
  readonly from: Prisma.Sql;
  /** The new state by itself, for a function of the database. */
  readonly to: Prisma.Sql;
}

/** For `UPDATE receipts r`. */
export function receiptMove<const From extends ReceiptStatus, const By extends Mover>(
  from: From | readonly From[],
  to: ReceiptTarget<From, By>,
  by: By,
): MoveParts {
  assertLegal(RECEIPT_MOVES, [from].flat(), { to, by });
  const state = `'${String(to)}'`;
  return {
    ...{ set: Prisma.raw(`status = ${state}, updated_at = now()`), from: isIn('r.status', [from].flat()) },
    to: Prisma.raw(state),
  };
}

/** For `UPDATE attempts a`. One that ends is closed at that moment. */
export function attemptMove<const From extends AttemptState, const By extends Mover>(
  from: From | readonly From[],
  to: AttemptTarget<From, By>,
  by: By,
): MoveParts {
  const states: readonly AttemptState[] = [from].flat();
  assertLegal(ATTEMPT_MOVES, states, { to, by });
  const closed = states.includes('open') ? ', closed_at = now()' : '';
  const state = `'${String(to)}'`;
  return { set: Prisma.raw(`state = ${state}${closed}`), from: isIn('a.state', states), to: Prisma.raw(state) };
}

function assertLegal(
  moves: readonly Move<string>[],
  from: readonly string[],
  { to, by }: { to: string; by: Mover },
): void {
  for (const each of from)
    if (!moves.some((move) => move.from === each && move.to === to && move.by.includes(by)))
      throw new Error(`no move of ${by} leads from ${each} to ${to}`);
}

function isIn(column: string, states: readonly string[]): Prisma.Sql {
  const [only, ...more] = states.map((state) => `'${state}'`);
  return Prisma.raw(
    more.length === 0 ? `${column}::text = ${only}` : `${column}::text IN (${[only, ...more].join(', ')})`,
  );
}

export function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
