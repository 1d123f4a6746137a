import { Injectable } from '@nestjs/common';
import { FROM_COPY, SalesDatabase, RECEIPT_SETTLED_CHANNEL, UNPROVEN_ATTEMPT } from '#database';
import { newId, Problem } from '#runtime';
import { ReceiptRepository, type ReceiptRow } from './receipt.repository.js';

/**
 * POST /v1/receipts/{id}/cancel: taken out of its lane for good, or refused because it may have left it.
 *
 * One statement on the condition that the relay's intent asks as well: the receipt still is `accepted`. Whoever has the row
 * first wins, the other one finds nothing; there is no third outcome. A receipt of which an earlier attempt may have
 * reached the register (an operator had it sent again) is not cancelled either: it could be registered all the same.
 */
@Injectable()
export class CancelReceipt {
  constructor(
    private readonly prisma: SalesDatabase,
    private readonly receipts: ReceiptRepository,
  ) {}

  /**
   * A receipt that was cancelled before is answered as it is.
   * @throws Problem 404; 409 receipt_not_cancellable
   */
  async execute(merchantId: string, id: string): Promise<ReceiptRow> {
    const isCancelled = await this.cancel(merchantId, id);
    const row = await this.receipts.find(merchantId, id);
    if (!row) throw new Problem('not_found', 'There is no receipt with this id.');
    if (isCancelled) await this.tell(id);
    if (row.status !== 'cancelled') throw new Problem('receipt_not_cancellable', whyNot(row));
    return row;
  }

  /** @returns whether this very call has cancelled it */
  async cancel(merchantId: string, id: string): Promise<boolean> {
    const cancelled = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH moved AS (
        UPDATE receipts r SET status = 'cancelled', updated_at = now()
         WHERE r.id = ${id} AND r.merchant_id = ${merchantId} AND r.status::text = 'accepted'
           AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT})
           AND NOT ${FROM_COPY}
        RETURNING r.id, r.merchant_id, r.type
      ), told AS (
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.cancelled', id,
               jsonb_build_object('receipt_id', id, 'reason', 'cancelled by the client')
          FROM moved
      )
      SELECT id FROM moved`;
    return cancelled.length === 1;
  }

  /** Whoever waits for this receipt, at any gateway, need not wait longer. A lost notice costs him his deadline. */
  private async tell(id: string): Promise<void> {
    await this.prisma.$queryRaw`SELECT pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${id})::text`;
  }
}

function whyNot({ status, type }: ReceiptRow): string {
  switch (status) {
    case 'registered':
      return type === 'sale' ? 'It is registered; refund it instead.' : 'It is registered.';
    case 'accepted':
      return 'It may have reached the register before; it waits to be sent under the same key.';
    case 'sending':
    case 'unknown':
      return 'It has left for the register, which may have it.';
    case 'awaiting_payment':
      return 'It waits for its payment; cancel the payment.';
    default:
      return `It is ${status}.`;
  }
}
