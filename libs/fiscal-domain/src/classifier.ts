import type { GoodsEntry } from './local-receipt-rules.js';

/** One entry of the classification register: a JSON line of the gateway's export and of the register's import. */
export interface ClassifierEntry {
  /** 17 digits. */
  spic: string;
  name: { ru: string; uz: string; en: string };
  packages: { code: string; name: string }[];
  /** OKEI code of the usual unit of measure. */
  units: number;
  /** Marking code required. */
  marked: boolean;
  /** false is the specification's `cashSale` 0. */
  cash_allowed: boolean;
  vat_percents: number[];
  active: boolean;
  version: number;
}

/** What the receipt rules need to know of an entry. */
export function toGoodsEntry(entry: ClassifierEntry): GoodsEntry {
  return {
    packages: entry.packages.map((pack) => pack.code),
    marked: entry.marked,
    cashAllowed: entry.cash_allowed,
    active: entry.active,
  };
}
