import { Injectable } from '@nestjs/common';
import { isUniqueViolation, RECEIPT_SETTLED_CHANNEL, SalesDatabase } from '#database';
import { parseTashkentCompact } from '#fiscal-domain';
import { cancelUnpaid, registerByProvider, releaseReceipt, releaseReceiptWithin, type Released } from '#ledger';
import type { ProviderDocument } from '#payments';

/** Another has moved one of them meanwhile: nothing is written. */
class NotReleased extends Error {}

/**
 * The receipt's side of a payment. A transaction that locks both takes the receipt first: the trigger that wakes a payment runs with the
 * receipt's row in hand.
 */
@Injectable()
export class ReceiptMoves {
  constructor(private readonly prisma: SalesDatabase) {}

  /**
   * awaiting_payment → registered by the provider's own document: of the sale, or of the refund that waits for it. Such a receipt
   * belongs to no device, so no lane can have it. `taken`: another receipt is this very document.
   */
  async registerByProvider(
    saleId: string,
    which: 'sale' | 'refund',
    document: ProviderDocument,
  ): Promise<{ kind: 'registered' | 'taken' | 'unchanged' }> {
    try {
      const registeredAt = new Date(parseTashkentCompact(document.compactTime) ?? Date.now());
      const ids = await registerByProvider(this.prisma, saleId, which, { ...document, registeredAt });
      for (const id of ids) await this.notify(id);
      return { kind: ids.length > 0 ? 'registered' : 'unchanged' };
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      return { kind: 'taken' };
    }
  }

  /** All of one payment's in one commit, or none: one that stays behind would be a sale without its other half. @returns whether it did */
  async releaseNow(receiptIds: readonly string[], released: Released): Promise<boolean> {
    const [only = '', ...others] = receiptIds;
    if (others.length === 0) return releaseReceipt(this.prisma, only, released);
    try {
      await this.prisma.$transaction(async (tx) => {
        // In one order, as everyone who takes several.
        for (const id of [...receiptIds].sort())
          if (!(await releaseReceiptWithin(tx, id, released))) throw new NotReleased();
      });
      return true;
    } catch (error) {
      if (error instanceof NotReleased) return false;
      throw error;
    }
  }

  /** Those of one payment that have not left. @returns whether it cancelled any */
  async cancelNow(receiptIds: readonly string[], reason: string): Promise<boolean> {
    let isAny = false;
    for (const id of receiptIds) {
      if (!(await cancelUnpaid(this.prisma, id, reason))) continue;
      isAny = true;
      // A caller that waits for this receipt need not wait longer; with a lost notice it waits until its deadline.
      await this.notify(id);
    }
    return isAny;
  }

  private async notify(receiptId: string): Promise<void> {
    await this.prisma.$queryRaw`SELECT pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${receiptId})::text`;
  }
}
