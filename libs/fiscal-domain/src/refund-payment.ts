import { divideHalfUp, tiyin, type Tiyin } from './money.js';

/** Money in cash and by card, tiyin. */
export interface PaymentSplit {
  cashTiyin: Tiyin;
  cardTiyin: Tiyin;
}

/** What of the paid money has not gone back. */
export function splitLeft(paid: PaymentSplit, returned: readonly PaymentSplit[]): PaymentSplit {
  let [cash, card]: [number, number] = [paid.cashTiyin, paid.cardTiyin];
  for (const { cashTiyin, cardTiyin } of returned) {
    cash -= cashTiyin;
    card -= cardTiyin;
  }
  return { cashTiyin: tiyin(cash), cardTiyin: tiyin(card) };
}

/**
 * A refund in the proportion in which the sale was paid: cumulative shares again, so that refunding all gives back exactly
 * what came in cash and what came by card.
 * @throws RangeError when more is to go back than is left
 */
export function proportionalSplit(paid: PaymentSplit, left: PaymentSplit, totalTiyin: Tiyin): PaymentSplit {
  const cashLeft = BigInt(left.cashTiyin);
  const cardLeft = BigInt(left.cardTiyin);
  const total = BigInt(totalTiyin);
  if (total > cashLeft + cardLeft) throw new RangeError('More would go back than was paid');
  const cashPaid = BigInt(paid.cashTiyin);
  const allPaid = cashPaid + BigInt(paid.cardTiyin);
  const returnedAfter = allPaid - cashLeft - cardLeft + total;
  const share = divideHalfUp(cashPaid * returnedAfter, allPaid === 0n ? 1n : allPaid) - (cashPaid - cashLeft);
  // Refunds with a stated split may have used up one of the two.
  const least = total > cardLeft ? total - cardLeft : 0n;
  const most = total < cashLeft ? total : cashLeft;
  const cash = share < least ? least : share > most ? most : share;
  return { cashTiyin: tiyin(Number(cash)), cardTiyin: tiyin(Number(total - cash)) };
}
