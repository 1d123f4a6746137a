import { vatContained, type LocalItem, type LocalReceiptRequest } from '#fiscal-domain';

/** Entries of the built-in classification sample. */
export const BREAD = { spic: '01905001001000001', packageCode: '1500001', units: 796 };
export const CHEESE = { spic: '00406001001000005', packageCode: '1500009', units: 166 };
export const VODKA = { spic: '02208001001000037', units: 868 };
export const WATER = { spic: '02202001001000033', units: 868 };
export const LAMP_NO_LONGER_VALID = { spic: '08539001001000062', units: 796 };

/** A valid line; `vat` fits VAT_RULE unit. */
export function item(changes: Partial<LocalItem> = {}): LocalItem {
  const price = changes.price ?? 2_000_000;
  const vatPercent = changes.vatPercent ?? 12;
  return {
    ...{ name: 'Non', spic: BREAD.spic, units: BREAD.units, amount: 1000, packageCode: BREAD.packageCode },
    ...{
      price,
      vatPercent,
      vat: vatPercent === 12 && Number.isSafeInteger(price) && price > 0 ? vatContained(price, 12) : 0,
    },
    ...changes,
  };
}

/** A valid sale of one piece for 20 000 so'm, paid in cash. */
export function sale(changes: Partial<LocalReceiptRequest> = {}): LocalReceiptRequest {
  return { type: 'sale', items: [item()], received: { cash: 2_000_000, card: 0 }, ...changes };
}
