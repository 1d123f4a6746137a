import { Prisma } from './generated/client.js';

/** `receipts.operation`: which call made the row; idempotency keys are unique for each. */
export const REFUND_OPERATION = 'refunds';
/** The refund of a registration that was one too many: its sale stays sold. */
export const SURPLUS_OPERATION = 'surplus';
/** The refund of a sale that an operator decided never to have been wanted, as a whole. */
export const WITHDRAWAL_OPERATION = 'withdrawal';

/**
 * Condition on a row of `receipts` (alias `f`) that refunds another: it holds a part of its sale. What was rejected or
 * cancelled holds nothing any more, with the very statement that moved it; what is unknown may be registered and holds on.
 * There is no second place to keep in step (docs/adr/0024-refund-ledger-derived.md).
 */
export const LEDGER_REFUND = Prisma.sql`
  (f.refund_of IS NOT NULL AND f.operation <> ${Prisma.raw(`'${SURPLUS_OPERATION}'`)}
   AND f.status NOT IN ('rejected', 'cancelled'))`;
