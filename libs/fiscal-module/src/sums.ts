import type { Sums } from './fiscal-module.js';

export const NO_SUMS: Sums = { cash: 0, card: 0, vat: 0 };

export function addSums(left: Sums, right: Sums): Sums {
  return { cash: left.cash + right.cash, card: left.card + right.card, vat: left.vat + right.vat };
}

/** Whether every sum is still an exact integer. */
export function areExact(sums: Sums): boolean {
  return Number.isSafeInteger(sums.cash) && Number.isSafeInteger(sums.card) && Number.isSafeInteger(sums.vat);
}

/** Whether what was sold covers what was refunded, for each of cash, card and VAT. */
export function covers(sold: Sums, refunded: Sums): boolean {
  return sold.cash >= refunded.cash && sold.card >= refunded.card && sold.vat >= refunded.vat;
}

export function sameSums(left: Sums, right: Sums): boolean {
  return left.cash === right.cash && left.card === right.card && left.vat === right.vat;
}
