import { withinContext, workContext } from '#runtime';

/**
 * Does work for one merchant: every statement that is begun within it sees and writes rows of this merchant alone, whatever its text
 * says (docs/adr/0090-row-security.md). It holds for what the work waits for, also in pools and transactions.
 */
export function withinMerchant<T>(merchantId: string, work: () => T): T {
  return withinContext({ merchantId }, work);
}

/** Work that serves many merchants together, no matter which of them has begun it: grouped statements, and what is cached for all. */
export function acrossMerchants<T>(work: () => T): T {
  return scopedMerchant() === null ? work() : withinContext({ merchantId: null }, work);
}

/** The merchant for whom the work at hand is done; null: for none in particular, or for many. */
export function scopedMerchant(): string | null {
  return workContext().merchantId;
}
