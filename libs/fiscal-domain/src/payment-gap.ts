import { sumOfNets } from './local-amounts.js';
import type { LocalReceiptRequest } from './local-api.js';

/** Real fiscal modules refuse a document whose paid sum is further from its total, in either direction. */
export const MODULE_PAYMENT_TOLERANCE_TIYIN = 10_000;

/** Tiyin, as the fiscal module gets them. */
interface Paid {
  cashTiyin: number;
  cardTiyin: number;
}

/** How far what was paid is from what the lines come to; BigInt: neither sum is bounded where this is asked. */
export function paymentGap({ cashTiyin, cardTiyin }: Paid, totalsTiyin: readonly number[]): bigint {
  const total = totalsTiyin.reduce((sum, each) => sum + BigInt(each), 0n);
  return absolute(BigInt(cashTiyin) + BigInt(cardTiyin) - total);
}

/** The same of a request on the wire. Null: a line of it has no total. */
export function requestPaymentGap({ items, received }: LocalReceiptRequest): bigint | null {
  const total = sumOfNets(items.map((item) => ({ ...item })));
  return total === null ? null : absolute(BigInt(received.cash) + BigInt(received.card) - total);
}

function absolute(difference: bigint): bigint {
  return difference < 0n ? -difference : difference;
}
