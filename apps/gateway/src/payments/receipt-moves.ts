import { Inject, Injectable } from '@nestjs/common';
import { Prisma, PrismaService, RECEIPT_SETTLED_CHANNEL, UNPROVEN_ATTEMPT } from '#database';
import { newId } from '#runtime';
import { PAYMENT_TIMING, type PaymentTiming } from './payment-settings.js';

type Tx = Prisma.TransactionClient;

/**
 * The receipt's side of a payment. Whoever locks both takes the receipt first: the trigger that wakes a payment runs with the
 * receipt's row in hand.
 */
@Injectable()
export class ReceiptMoves {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(PAYMENT_TIMING) private readonly timing: Pick<PaymentTiming, 'holdMarginMs'>,
  ) {}

  /** awaiting_payment → accepted, with a place in its lane from this moment. @returns whether this call did it */
  async release(tx: Tx, receiptId: string, dispatchBefore: Date | null): Promise<boolean> {
    return (await tx.$queryRaw<unknown[]>(releasing(receiptId, dispatchBefore))).length === 1;
  }

  /** Never sent: it can end here, in the transaction that ends its payment. @returns whether this call did it */
  async cancel(tx: Tx, receiptId: string, reason: string): Promise<boolean> {
    return (await tx.$queryRaw<unknown[]>(cancelling(receiptId, reason))).length === 1;
  }

  /**
   * A receipt of held money leaves for its register only while there is time for the register's answer and for taking the money.
   * @param holdUntil null: the money is taken
   */
  async releaseNow(receiptId: string, holdUntil: Date | null): Promise<boolean> {
    const dispatchBefore = holdUntil && new Date(holdUntil.getTime() - this.timing.holdMarginMs);
    return (await this.prisma.queryHot(releasing(receiptId, dispatchBefore))).length === 1;
  }

  async cancelNow(receiptId: string, reason: string): Promise<boolean> {
    const isCancelled = (await this.prisma.queryHot(cancelling(receiptId, reason))).length === 1;
    // Whoever waits for this receipt need not wait longer; a lost notice costs him his deadline.
    if (isCancelled) await this.prisma.$queryRaw`SELECT pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${receiptId})::text`;
    return isCancelled;
  }
}

function releasing(receiptId: string, dispatchBefore: Date | null): Prisma.Sql {
  const moved = Prisma.sql`
    UPDATE receipts SET status = 'accepted', lane_place = nextval('lane_place_seq'), updated_at = now(),
                        dispatch_before = ${dispatchBefore}::timestamptz
     WHERE id = ${receiptId} AND status = 'awaiting_payment' RETURNING id, merchant_id`;
  return told(moved, 'receipt.accepted', { receipt_id: receiptId });
}

function cancelling(receiptId: string, reason: string): Prisma.Sql {
  const moved = Prisma.sql`
    UPDATE receipts r SET status = 'cancelled', updated_at = now()
     WHERE id = ${receiptId} AND (status = 'awaiting_payment' OR (status = 'accepted' AND NOT EXISTS (
             SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT})))
    RETURNING id, merchant_id`;
  return told(moved, 'receipt.cancelled', { receipt_id: receiptId, reason });
}

/** The move and its event as one statement. */
function told(moved: Prisma.Sql, type: string, data: Record<string, unknown>): Prisma.Sql {
  return Prisma.sql`
    WITH moved AS (${moved}), told AS (
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, ${type}, id, ${JSON.stringify(data)}::jsonb FROM moved
    )
    SELECT id FROM moved`;
}
