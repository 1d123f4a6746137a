import type { Schema } from '../../api/api.js';

type Row = Schema<'TurnoverRow'>;

/** Of all rows. Null: no sum of the rows says it. */
export interface TurnoverSums {
  count: number | null;
  sales: number;
  cash: number | null;
  card: number | null;
  refunds: number;
  net: number;
  netVat: number;
}

/** By VAT rate a receipt stands in the row of each rate that it has, and no row says how it was paid. */
export function turnoverSums(rows: readonly Row[]): TurnoverSums {
  const sum = (of: (row: Row) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const isByRate = rows.some(({ sales }) => sales.cash === null);
  const ofReceipts = (of: (row: Row) => number | null): number | null => (isByRate ? null : sum((row) => of(row) ?? 0));
  return {
    count: ofReceipts(({ sales }) => sales.count),
    sales: sum(({ sales }) => sales.total),
    cash: ofReceipts(({ sales }) => sales.cash),
    card: ofReceipts(({ sales }) => sales.card),
    refunds: sum(({ refunds }) => refunds.total),
    net: sum(({ net_total: net }) => net),
    netVat: sum(({ net_vat: vat }) => vat),
  };
}
