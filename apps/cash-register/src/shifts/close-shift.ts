import { tashkentIsoBasic, type CloseShiftResponse } from '#fiscal-domain';
import { type FiscalModule, type Refusal, refusedByModule } from '#fiscal-module';
import type { ZReportCourier } from '../ofd/z-report-courier.js';

export type CloseShiftResult = { readonly kind: 'closed'; readonly response: CloseShiftResponse } | Refusal;

/** Closes the shift and delivers its Z-report; what the OFD does not take stays in the module for a resend. */
export async function closeShift(module: FiscalModule, courier: ZReportCourier): Promise<CloseShiftResult> {
  const outcome = await module.closeShift();
  if (outcome.kind === 'refused') return refusedByModule(outcome);
  const { number, closedMs } = outcome.shift;
  const delivery = await courier.deliver(number);
  return {
    kind: 'closed',
    response: {
      success: true,
      zReport: { number, closeTime: tashkentIsoBasic(closedMs ?? 0) },
      ofdSent: delivery.kind === 'sent',
      ...(delivery.kind === 'unsent' && { ofdError: delivery.error }),
    },
  };
}
