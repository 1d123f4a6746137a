import { Injectable } from '@nestjs/common';
import { KnownServer, RECEIPT_SETTLED_CHANNEL, SalesDatabase } from '#database';
import { cancelReceipt, type ReceiptRow } from '#ledger';
import { Problem } from '#problems';
import { ReceiptRepository } from './receipt.repository.js';

/**
 * POST /v1/receipts/{id}/cancel: taken out of its lane for good, or refused because it may have left it.
 *
 * One statement on the condition that the relay's intent asks as well: the receipt still is `accepted`. The one that has the row
 * first wins, the other one finds nothing; there is no third outcome. A receipt of which an earlier attempt may have
 * reached the register (an operator had it sent again) is not cancelled either: it could be registered all the same.
 */
@Injectable()
export class CancelReceipt {
  constructor(
    private readonly prisma: SalesDatabase,
    private readonly receipts: ReceiptRepository,
    private readonly server: KnownServer,
  ) {}

  /**
   * A receipt that was cancelled before is answered as it is.
   * @throws Problem 404; 410; 409 receipt_not_cancellable
   */
  async execute(merchantId: string, id: string): Promise<ReceiptRow> {
    const isCancelled = await this.cancel(merchantId, id);
    const row = await this.receipts.find(merchantId, id);
    if (!row) throw await this.receipts.missing(merchantId, id);
    if (isCancelled) await this.notify(id);
    if (row.status !== 'cancelled') throw new Problem('receipt_not_cancellable', whyNot(row));
    return row;
  }

  /** @returns whether this very call has cancelled it */
  cancel(merchantId: string, id: string): Promise<boolean> {
    const receipt = { merchantId, receiptId: id, reason: 'cancelled by the client' };
    return this.server.tried(() => cancelReceipt(this.prisma, receipt));
  }

  /** A caller that waits for this receipt, at any gateway, need not wait longer. With a lost notice it waits until its deadline. */
  private async notify(id: string): Promise<void> {
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
