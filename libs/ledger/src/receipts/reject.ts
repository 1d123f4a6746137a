import { FROM_COPY, ON_UNKNOWN_SERVER, Prisma, UNPROVEN_ATTEMPT } from '#database';
import type { Rejection } from '#fiscal-domain';
import { receiptData, receiptEvents } from '../events.js';
import { receiptMove, type Statements } from '../statements.js';

const REJECTED = receiptMove('accepted', 'rejected', 'relay');

/** Of a copy of the database, and no register was asked whether it has it. */
const NOT_COMPARED = Prisma.sql`
  (${FROM_COPY} AND NOT EXISTS (SELECT FROM restore_checks c, database_identity i
                                 WHERE c.receipt_id = r.id AND c.restored_at = i.changed_at))`;

/**
 * A receipt that may not be sent as it is: `accepted → rejected`. False when it is no longer accepted on this device, or when an
 * earlier attempt may have left it in the register.
 */
export async function rejectUnsent(
  database: Statements,
  where: { receiptId: string; deviceId: string },
  rejection: Rejection,
): Promise<boolean> {
  const moved = await database.$queryRaw<{ id: string }[]>`
    WITH moved AS (
      UPDATE receipts r SET ${REJECTED.set}, rejection = ${JSON.stringify(rejection)}::jsonb
       WHERE r.id = ${where.receiptId} AND r.device_id = ${where.deviceId} AND ${REJECTED.from} AND NOT ${NOT_COMPARED} AND NOT ${ON_UNKNOWN_SERVER}
         AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT})
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('rejected', receiptData({ rejection }))})
    SELECT id FROM moved`;
  return moved.length === 1;
}
