import type { Metrics } from '#runtime';
import type { AcceptReceipts } from './accept-receipts.js';

/** How accepting fares: what waits, and what it has refused or left out. */
export function observeAccepting(metrics: Metrics, receipts: AcceptReceipts): void {
  metrics.gauge({ name: 'accept_waiting_receipts', help: 'Receipts that wait to be written' }, (gauge) =>
    gauge.set(receipts.waitingCount),
  );
  metrics.gauge(
    { name: 'accept_oldest_seconds', help: 'How long the oldest receipt waits that is not written yet' },
    (gauge) => gauge.set(receipts.oldestMs / 1_000),
  );
  metrics.gauge(
    {
      name: 'accept_refused_receipts',
      help: 'Receipts refused because too many waited, left out because their callers had gone, or answered as unclear',
      labels: ['why'],
    },
    (gauge) => {
      for (const [why, count] of Object.entries(receipts.counts)) gauge.set({ why }, count);
    },
  );
}
