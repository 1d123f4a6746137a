import { withinContext, workContext, type Share } from '#runtime';

/**
 * Does work for one merchant: every statement that is begun within it sees and writes rows of this merchant alone, whatever its text
 * says (docs/adr/0090-row-security.md). It holds for what the work waits for, also in pools and transactions.
 */
export function withinMerchant<T>(merchantId: string, work: () => T): T {
  return withinContext({ merchantId }, work);
}

/** Work that reads beyond its merchant. */
export function acrossMerchants<T>(work: () => T): T {
  return scopedMerchant() === null ? work() : withinContext({ merchantId: null }, work);
}

/** Does work that takes connections out of this share (shared-connections.ts), also in what it waits for. */
export function withinShare<T>(name: string, work: () => T, more: Pick<Share, 'within' | 'isRead'> = {}): T {
  return withinContext({ share: { name, hasBegun: false, ...more } }, work);
}

/** What many callers wait for, whichever of them has begun it: it is done across merchants, and out of no share. */
export function onBehalfOfAll<T>(work: () => T): T {
  const { merchantId, share } = workContext();
  return merchantId === null && share === null ? work() : withinContext({ merchantId: null, share: null }, work);
}

/** The merchant for whom the work at hand is done; null: for none in particular, or for many. */
export function scopedMerchant(): string | null {
  return workContext().merchantId;
}
