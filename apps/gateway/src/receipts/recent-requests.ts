import { Injectable } from '@nestjs/common';
import type { StoredIdentity } from '#ledger';
import { growingCache } from '#runtime';

/** Minutes of a busy shop chain, seconds of the fastest load; whatever was forgotten goes the way of a new receipt. */
const MAX_CACHED = 16_384;

/**
 * Which receipt this process has lately answered a request with, so that its repetition is found without goods, rules and
 * an INSERT that meets its own key (docs/adr/0043-repeated-requests.md). A hint and no more: the row decides whether it was
 * this very request, and one that is not cached here (another gateway, before a restart) is found by the unique indexes.
 */
@Injectable()
export class RecentRequests {
  private readonly receipts = growingCache<string, string>(MAX_CACHED);

  store(request: StoredIdentity, receiptId: string): void {
    const name = nameOf(request);
    if (name !== null) this.receipts.set(name, receiptId);
  }

  /** The receipt's id. */
  recall(request: StoredIdentity): string | undefined {
    const name = nameOf(request);
    return name === null ? undefined : this.receipts.get(name);
  }
}

/** By its key, else by its external id; null: nothing would distinguish it from another sale of the same. */
function nameOf({ clientId, operation, idempotencyKey, merchantId, externalId }: StoredIdentity): string | null {
  if (idempotencyKey !== null) return `${clientId} ${operation} ${idempotencyKey}`;
  return externalId === null ? null : `${merchantId} ${externalId}`;
}
