/** What a Z-report must show when only the gateway sold in its shift, and how far the two differ. Sums in tiyin. */
import type { CurrentZReport } from './local-api.js';
import type { FiscalSums } from './outcome.js';

export interface ShiftSums extends FiscalSums {
  saleCount: number;
  refundCount: number;
}

export type ZReportComparison =
  | { kind: 'equal' }
  /** More than ours, on a register on which others sell too: nothing to be alarmed about. */
  | { kind: 'foreign_sales'; difference: Partial<ShiftSums> }
  | { kind: 'different'; difference: Partial<ShiftSums> };

const FIELDS = [
  ...(['saleCash', 'saleCard', 'saleVat', 'saleCount'] as const),
  ...(['refundCash', 'refundCard', 'refundVat', 'refundCount'] as const),
];

export function sumsOfZReport(report: CurrentZReport): ShiftSums {
  return {
    saleCash: report.TotalSaleCash,
    saleCard: report.TotalSaleCard,
    saleVat: report.TotalSaleVAT,
    saleCount: report.TotalSaleCount,
    refundCash: report.TotalRefundCash,
    refundCard: report.TotalRefundCard,
    refundVat: report.TotalRefundVAT,
    refundCount: report.TotalRefundCount,
  };
}

/**
 * The difference is register − gateway, only the fields that differ. The VAT may be off by a tiyin per line.
 * A register that shows less than the gateway sold there is never explained by other people's sales.
 *
 * @param vatToleranceTiyin number of lines of the gateway's own receipts
 */
export function compareZReport(
  reported: ShiftSums,
  own: ShiftSums,
  { vatToleranceTiyin, isShared }: { vatToleranceTiyin: number; isShared: boolean },
): ZReportComparison {
  const difference: Partial<ShiftSums> = {};
  for (const field of FIELDS) {
    const off = reported[field] - own[field];
    const isVat = field === 'saleVat' || field === 'refundVat';
    if (Math.abs(off) > (isVat ? vatToleranceTiyin : 0)) difference[field] = off;
  }
  const values = Object.values(difference);
  if (values.length === 0) return { kind: 'equal' };
  return isShared && values.every((off) => off > 0)
    ? { kind: 'foreign_sales', difference }
    : { kind: 'different', difference };
}
