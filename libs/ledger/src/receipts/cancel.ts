import { FROM_COPY, ON_UNKNOWN_SERVER, Prisma, UNPROVEN_ATTEMPT } from '#database';
import { receiptData, receiptEvents } from '../events.js';
import { receiptMove, type HotStatements, type Statements } from '../statements.js';

const BY_CLIENT = receiptMove('accepted', 'cancelled', 'client');
const UNPAID = receiptMove('awaiting_payment', 'cancelled', 'payments');
const PAID = receiptMove('accepted', 'cancelled', 'payments');

/** No earlier attempt may have reached the register, and the receipt is not older than a restore of the database, noted or not. */
const WAS_NEVER_SENT = Prisma.sql`
  NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT}) AND NOT ${FROM_COPY}
  AND NOT ${ON_UNKNOWN_SERVER}`;

/**
 * Out of its lane for good, on the condition that the relay's intent asks as well: the receipt still is `accepted`. The first
 * of the two has the row, the other finds nothing. @returns whether this very call has cancelled it
 */
export async function cancelReceipt(
  database: Statements,
  { merchantId, receiptId, reason }: { merchantId: string; receiptId: string; reason: string },
): Promise<boolean> {
  const cancelled = await database.$queryRaw<{ id: string }[]>`
    WITH moved AS (
      UPDATE receipts r SET ${BY_CLIENT.set}
       WHERE r.id = ${receiptId} AND r.merchant_id = ${merchantId} AND ${BY_CLIENT.from} AND ${WAS_NEVER_SENT}
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('cancelled', receiptData({ reason }))})
    SELECT id FROM moved`;
  return cancelled.length === 1;
}

/** Its money will not come, or goes back. Never sent: it can end here. @returns whether this call did it */
export async function cancelUnpaid(database: HotStatements, receiptId: string, reason: string): Promise<boolean> {
  return (await database.queryHot(cancelling(receiptId, reason))).length === 1;
}

/** The same in the transaction that ends its payment. */
export async function cancelUnpaidWithin(tx: Statements, receiptId: string, reason: string): Promise<boolean> {
  return (await tx.$queryRaw<unknown[]>(cancelling(receiptId, reason))).length === 1;
}

function cancelling(receiptId: string, reason: string): Prisma.Sql {
  return Prisma.sql`
    WITH moved AS (
      UPDATE receipts r SET ${UNPAID.set}
       WHERE r.id = ${receiptId} AND (${UNPAID.from} OR (${PAID.from} AND ${WAS_NEVER_SENT}))
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('cancelled', receiptData({ reason }))})
    SELECT id FROM moved`;
}
