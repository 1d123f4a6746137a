import type { Metrics } from '#runtime';
import type { LaneRunner } from './lane-runner.js';
import type { LaneWakes } from './lane-wakes.js';
import type { Sweeper } from './sweeper.js';

/** Around the service level of two seconds (docs/alarms.md). */
const REGISTERED_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];

/** @returns what is called with the seconds from a receipt's acceptance to its registration, both by the database's clock */
export function observeRegistered(metrics: Metrics): (seconds: number) => void {
  const registered = metrics.durations({
    name: 'receipt_register_duration_seconds',
    help: 'From the acceptance of a receipt to its registration; those that waited for a payment and those of sandboxes are left out',
    buckets: REGISTERED_BUCKETS_S,
  });
  return (seconds) => registered.observe(seconds);
}

interface Parts {
  runner: LaneRunner;
  sweeper: Sweeper;
  wakes: LaneWakes;
}

/** How the lanes stand, read at each scrape. */
export function observeLanes(metrics: Metrics, { runner, sweeper, wakes }: Parts): void {
  metrics.gauge({ name: 'relay_free_places', help: 'Lanes that this relay could take up now' }, (gauge) =>
    gauge.set(runner.freePlaces),
  );
  metrics.gauge({ name: 'relay_lanes_aside', help: 'Lanes in hand that wait for a silent register' }, (gauge) =>
    gauge.set(runner.lanesAside),
  );
  metrics.gauge({ name: 'relay_lanes_waiting', help: 'Lanes that wait for one of this relay’s places' }, (gauge) =>
    gauge.set(runner.lanesWaiting),
  );
  metrics.total(
    {
      name: 'relay_lanes_swept',
      help: 'Lanes found by the sweeper since start; rises while the queue is deaf or away',
    },
    (counter) => counter.inc(sweeper.found),
  );
  metrics.gauge(
    { name: 'relay_lanes_followed', help: 'Lanes polled often because their wake-ups were lost just now' },
    (gauge) => gauge.set(sweeper.followed.size),
  );
  metrics.total(
    { name: 'relay_lanes_woken', help: 'Lanes woken by notice instead of the queue since start' },
    (counter) => counter.inc(wakes.notices.woken),
  );
  metrics.gauge({ name: 'relay_listening', help: '1 while wake-ups arrive by the queue', together: 'min' }, (gauge) =>
    gauge.set(wakes.queue.state === 'listening' ? 1 : 0),
  );
}
