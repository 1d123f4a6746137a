import { tashkentDateTime, type CurrentZReport, type ZReportStats } from '#fiscal-domain';
import type { FiscalModule } from '#fiscal-module';

/** The open shift, else the last closed one; `null` if there never was one. */
export function currentZReport(module: FiscalModule): CurrentZReport | null {
  const shift = module.currentShift();
  if (!shift) return null;
  return {
    Header: {
      TerminalID: module.info().terminalId,
      Number: shift.number,
      OpenTime: tashkentDateTime(shift.openedMs),
      CloseTime: shift.closedMs === null ? '' : tashkentDateTime(shift.closedMs),
    },
    TotalSaleCash: shift.sale.cash,
    TotalSaleCard: shift.sale.card,
    TotalSaleVAT: shift.sale.vat,
    TotalSaleCount: shift.saleCount,
    TotalRefundCash: shift.refund.cash,
    TotalRefundCard: shift.refund.card,
    TotalRefundVAT: shift.refund.vat,
    TotalRefundCount: shift.refundCount,
  };
}

export function zReportStats(module: FiscalModule): ZReportStats {
  const shift = module.currentShift();
  const unackedNumbers = module.unsentZReports();
  const opened = shift?.number ?? 0;
  return {
    totalClosed: shift?.closedMs === null ? opened - 1 : opened,
    totalUnacked: unackedNumbers.length,
    unackedNumbers,
  };
}
