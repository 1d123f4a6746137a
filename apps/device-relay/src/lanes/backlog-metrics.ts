import type { Backlog } from '#ledger';
import { loggedReading, type Clock, type Logger, type Metrics } from '#runtime';

const GAUGES: readonly [name: string, help: string, key: keyof Backlog][] = [
  ['lanes_unknown_receipts', 'Receipts that wait for an operator, of all lanes but those of sandboxes', 'unknown'],
  [
    'lanes_oldest_unknown_seconds',
    'For how long the oldest of them has waited for an operator',
    'oldestUnknownSeconds',
  ],
  ['lanes_with_work', 'Lanes in which a receipt waits', 'lanes'],
  ['lanes_waiting_receipts', 'Accepted receipts of all lanes, counted up to 20 000', 'waiting'],
  [
    'lanes_longest',
    'Accepted receipts of the longest of the 20 lanes that wait longest, counted up to 5 000',
    'longest',
  ],
  [
    'lanes_oldest_accepted_seconds',
    'Since the oldest receipt that waits was created, whatever the state of its register; not of sandboxes',
    'oldestSeconds',
  ],
  [
    'lanes_oldest_attempt_seconds',
    'Since the attempt began that is open longest, whatever the state of its register; not of sandboxes',
    'oldestAttemptSeconds',
  ],
];

/**
 * Gauges by which a lane that stands still is seen: totals and the worst, never per receipt or lane. Every relay shows all
 * lanes, so take the maximum over relays. NaN while the database does not answer: a scrape must not fail with it.
 */
export function observeBacklog(
  metrics: Metrics,
  read: () => Promise<Backlog>,
  { clock, logger }: { clock: Clock; logger: Logger },
): void {
  const what = 'backlog not read for metrics';
  const reading = loggedReading(read, { logger, what, monotonicMs: () => clock.monotonicMs() });
  for (const [name, help, key] of GAUGES)
    metrics.gauge({ name, help, together: 'max' }, async (gauge) =>
      gauge.set((await reading.get())?.[key] ?? Number.NaN),
    );
}
