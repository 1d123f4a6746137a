import type { ClaimedPayment, PaymentRepository } from './repository/payment.repository.js';

/** Due payments at work at the same time in one process; of them for merchants that have none. */
const PLACES = { total: 16, reserved: 4 };

/** What a poll of all that is due has claimed. */
export interface DueClaim {
  ids: string[];
  /** There was no more room: more may be due. */
  isFull: boolean;
}

/**
 * Divides the places among merchants: a provider that does not answer holds up its own merchant's payments, and never the last
 * places, each of which is given to a merchant that has none.
 */
export class DuePayments {
  /** Merchants by payment. */
  private readonly inHand = new Map<string, string>();

  constructor(private readonly payments: Pick<PaymentRepository, 'claim'>) {}

  async claim(leaseId: string): Promise<DueClaim> {
    const room = Math.max(0, PLACES.total - PLACES.reserved - this.inHand.size);
    const claimed = room > 0 ? await this.take(leaseId, room) : [];
    const isFull = claimed.length === room;
    while (isFull && this.inHand.size < PLACES.total) {
      const more = await this.take(leaseId, 1, [...new Set(this.inHand.values())]);
      if (more.length === 0) break;
      claimed.push(...more);
    }
    return { ids: claimed.map(({ id }) => id), isFull };
  }

  release(paymentId: string): void {
    this.inHand.delete(paymentId);
  }

  private async take(leaseId: string, limit: number, notOf: readonly string[] = []): Promise<ClaimedPayment[]> {
    const claimed = await this.payments.claim(leaseId, { limit, notOf });
    for (const { id, merchantId } of claimed) this.inHand.set(id, merchantId);
    return claimed;
  }
}
