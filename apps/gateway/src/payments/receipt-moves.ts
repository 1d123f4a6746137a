import { Injectable } from '@nestjs/common';
import { PrismaService, RECEIPT_SETTLED_CHANNEL, UNPROVEN_ATTEMPT, type Prisma } from '#database';
import { newId } from '#runtime';

type Tx = Prisma.TransactionClient;

/**
 * The receipt's side of a payment. Whoever locks both takes the receipt first: the trigger that wakes a payment runs with the
 * receipt's row in hand.
 */
@Injectable()
export class ReceiptMoves {
  constructor(private readonly prisma: PrismaService) {}

  /** awaiting_payment → accepted, with a place in its lane from this moment. @returns whether this call did it */
  async release(tx: Tx, receiptId: string, dispatchBefore: Date | null): Promise<boolean> {
    const moved = await tx.$queryRaw<{ merchant_id: string }[]>`
      UPDATE receipts SET status = 'accepted', lane_place = nextval('lane_place_seq'), updated_at = now(),
                          dispatch_before = ${dispatchBefore}::timestamptz
       WHERE id = ${receiptId} AND status = 'awaiting_payment' RETURNING merchant_id`;
    return this.tell(tx, receiptId, moved, { type: 'receipt.accepted' });
  }

  /** Never sent: it can end here, in the transaction that ends its payment. @returns whether this call did it */
  async cancel(tx: Tx, receiptId: string, reason: string): Promise<boolean> {
    const moved = await tx.$queryRaw<{ merchant_id: string }[]>`
      UPDATE receipts r SET status = 'cancelled', updated_at = now()
       WHERE id = ${receiptId} AND (status = 'awaiting_payment' OR (status = 'accepted' AND NOT EXISTS (
               SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT})))
      RETURNING merchant_id`;
    return this.tell(tx, receiptId, moved, { type: 'receipt.cancelled', reason });
  }

  releaseNow(receiptId: string, dispatchBefore: Date | null): Promise<boolean> {
    return this.prisma.$transaction((tx) => this.release(tx, receiptId, dispatchBefore));
  }

  async cancelNow(receiptId: string, reason: string): Promise<boolean> {
    const isCancelled = await this.prisma.$transaction((tx) => this.cancel(tx, receiptId, reason));
    // Whoever waits for this receipt need not wait longer; a lost notice costs him his deadline.
    if (isCancelled) await this.prisma.$queryRaw`SELECT pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${receiptId})::text`;
    return isCancelled;
  }

  private async tell(
    tx: Tx,
    receiptId: string,
    moved: readonly { merchant_id: string }[],
    { type, reason }: { type: string; reason?: string },
  ): Promise<boolean> {
    const [row] = moved;
    if (!row) return false;
    const data = { receipt_id: receiptId, ...(reason !== undefined && { reason }) };
    await tx.$executeRaw`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      VALUES (${newId('evt')}, ${row.merchant_id}, ${type}, ${receiptId}, ${JSON.stringify(data)}::jsonb)`;
    return true;
  }
}
