import { Injectable } from '@nestjs/common';
import { Metrics } from '#runtime';
import type { AcceptReceipts } from './accept-receipts.js';
import type { WakeLanes } from './wake-lanes.js';

/** Around the service level of 300 ms (docs/alarms.md). */
const ACCEPT_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2.5, 5, 10];

/** How long callers wait until their receipt is on disk. */
@Injectable()
export class AcceptTimes {
  private readonly durations;

  constructor(metrics: Metrics) {
    this.durations = metrics.durations({
      name: 'receipt_accept_duration_seconds',
      help: 'From the first byte of a request for a receipt to its being on disk',
      buckets: ACCEPT_BUCKETS_S,
    });
  }

  /** @param reply that of the request */
  stored(reply: { elapsedTime: number }): void {
    this.durations.observe(reply.elapsedTime / 1_000);
  }
}

/** How accepting fares: what waits, and what it has refused or left out. */
export function observeAccepting(metrics: Metrics, receipts: AcceptReceipts): void {
  metrics.gauge({ name: 'accept_waiting_receipts', help: 'Receipts that wait to be written' }, (gauge) =>
    gauge.set(receipts.waitingCount),
  );
  metrics.gauge(
    {
      name: 'accept_oldest_seconds',
      help: 'How long the oldest receipt waits that is not written yet',
      together: 'max',
    },
    (gauge) => gauge.set(receipts.oldestMs / 1_000),
  );
  metrics.gauge(
    {
      name: 'accept_writes_refused',
      help: '1 while the database is there and refuses to write (a full disk, read-only), as the last minute has shown',
      together: 'max',
    },
    (gauge) => gauge.set(receipts.isWriteRefused ? 1 : 0),
  );
  metrics.total(
    {
      name: 'accept_refused_receipts',
      help: 'Receipts refused because too many waited, left out because their callers had gone, or answered as unclear',
      labels: ['why'],
    },
    (counter) => {
      for (const [why, count] of Object.entries(receipts.counts)) counter.inc({ why }, count);
    },
  );
}

/** How lanes are woken beside the queue. */
export function observeWakes(metrics: Metrics, wakes: WakeLanes): void {
  metrics.total(
    { name: 'lane_wakes_sent', help: 'Lanes woken by notice instead of the queue since start' },
    (counter) => counter.inc(wakes.sent),
  );
  metrics.total(
    { name: 'lane_wakes_unanswered', help: 'Of these, rung in the queue because no relay answered in time' },
    (counter) => counter.inc(wakes.unanswered),
  );
}
