import type { ComparePayments } from '../compare-payments.js';
import type { PaymentWorker } from '../payment-worker.js';

/** What a provider hinted at is read behind its answer, and the saga goes on from what was found. */
export function followHint(
  comparing: Pick<ComparePayments, 'afterHint'>,
  worker: Pick<PaymentWorker, 'schedule'>,
  paymentId: string,
): void {
  void comparing.afterHint(paymentId).then(() => worker.schedule(paymentId));
}
