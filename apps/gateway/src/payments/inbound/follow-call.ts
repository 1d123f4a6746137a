import type { ComparePayments } from '../compare-payments.js';
import type { RingLanes } from '../../receipts/ring-lanes.js';
import type { PaymentWorker } from '../payment-worker.js';
import { receiptsOf } from '../several-receipts.js';
import type { LockedPayment } from './inbound.repository.js';

/** What a provider hinted at is read behind its answer, and the saga goes on from what was found. */
export function followHint(
  comparing: Pick<ComparePayments, 'afterHint'>,
  worker: Pick<PaymentWorker, 'schedule'>,
  paymentId: string,
): void {
  void comparing.afterHint(paymentId).then(() => worker.schedule(paymentId));
}

/** What was paid enters its lanes, or is the saga's. No caller waits for that. */
export function followPaid(
  payment: LockedPayment,
  lanes: Pick<RingLanes, 'ring'>,
  worker: Pick<PaymentWorker, 'schedule' | 'watch'>,
): void {
  if (payment.device_id === null) worker.schedule(payment.id);
  for (const { id, device_id: deviceId } of receiptsOf(payment)) {
    worker.watch(id, payment.id);
    if (deviceId !== null) lanes.ring(deviceId, id);
  }
}
