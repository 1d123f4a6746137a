import { Prisma } from '#database';
import type { LocalExtraInfo } from '#fiscal-domain';
import { receiptData, receiptEvents } from '../events.js';
import { receiptMove, type HotStatements, type Statements } from '../statements.js';

/** What its lane has to know of a receipt whose money is there. */
export interface Released {
  /** The hold ends: later it must not be sent. */
  dispatchBefore: Date | null;
  extraInfo: LocalExtraInfo | null;
}

const RELEASED = receiptMove('awaiting_payment', 'accepted', 'payments');
/** Of the moment of the release. */
const DRAW_PLACE = Prisma.raw(`lane_place = nextval('lane_place_seq')`);

/** Its money is there: into its lane. @returns whether this call did it */
export async function releaseReceipt(database: HotStatements, receiptId: string, released: Released): Promise<boolean> {
  return (await database.queryHot(releasing(receiptId, released))).length === 1;
}

/** The same in the transaction that moves its payment. */
export async function releaseReceiptWithin(tx: Statements, receiptId: string, released: Released): Promise<boolean> {
  return (await tx.$queryRaw<unknown[]>(releasing(receiptId, released))).length === 1;
}

function releasing(receiptId: string, { dispatchBefore, extraInfo }: Released): Prisma.Sql {
  return Prisma.sql`
    WITH moved AS (
      UPDATE receipts r SET ${RELEASED.set}, ${DRAW_PLACE}, dispatch_before = ${dispatchBefore}::timestamptz,
                            extra_info = ${extraInfo && JSON.stringify(extraInfo)}::jsonb
       WHERE r.id = ${receiptId} AND ${RELEASED.from} AND r.device_id IS NOT NULL
      RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('accepted', receiptData({}))})
    SELECT id FROM moved`;
}

/**
 * A part of a grouped statement that takes many payments: their receipts, which it holds locked, into their lanes.
 * @param from a part with receipt_id and extra_info
 */
export function releaseReceipts(from: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    UPDATE receipts r SET ${RELEASED.set}, ${DRAW_PLACE}, dispatch_before = NULL, extra_info = d.extra_info::jsonb
      FROM ${from} d WHERE r.id = d.receipt_id AND ${RELEASED.from}`;
}
