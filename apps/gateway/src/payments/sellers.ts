import type { ReceiptLine } from '#fiscal-domain';

/** What of a payment is for one seller; without TIN and PINFL the merchant itself. */
export interface SellerShare {
  tin: string | null;
  pinfl: string | null;
  amount: number;
}

/** The sums of a sale by whose goods they are for: together they are the sale's total, to the tiyin. In the order of the lines. */
export function sellersOf(items: readonly { total: number; commission: ReceiptLine['commission'] }[]): SellerShare[] {
  const shares = new Map<string, SellerShare>();
  for (const { total, commission } of items) {
    const { tin = null, pinfl = null } = commission ?? {};
    const key = `${tin ?? ''}/${pinfl ?? ''}`;
    const share = shares.get(key);
    if (share) share.amount += total;
    else shares.set(key, { tin, pinfl, amount: total });
  }
  return [...shares.values()];
}
