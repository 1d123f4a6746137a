import type { Clock, Logger, Metrics } from '#runtime';
import type { Backlog } from './read-backlog.js';

/** The gauges of one scrape, and scrapes that come together, share one reading. */
const FRESH_MS = 5_000;

const GAUGES: readonly [name: string, help: string, key: keyof Backlog][] = [
  ['lanes_unknown_receipts', 'Receipts that wait for an operator, of all lanes', 'unknown'],
  ['lanes_with_work', 'Lanes in which a receipt waits', 'lanes'],
  ['lanes_waiting_receipts', 'Accepted receipts of all lanes, counted up to 100 000', 'waiting'],
  ['lanes_longest', 'Accepted receipts of the longest lane', 'longest'],
  ['lanes_oldest_accepted_seconds', 'Since the oldest receipt that waits was created', 'oldestSeconds'],
  ['lanes_oldest_attempt_seconds', 'Since the attempt began that is open longest', 'oldestAttemptSeconds'],
];

/**
 * Gauges by which a lane that stands still is seen: totals and the worst, never per receipt or lane. Every relay shows all
 * lanes, so take the maximum over relays. NaN while the database does not tell: a scrape must not fail with it.
 */
export function observeBacklog(
  metrics: Metrics,
  read: () => Promise<Backlog>,
  { clock, logger }: { clock: Clock; logger: Logger },
): void {
  let last: { takenAtMs: number; backlog: Promise<Backlog | null> } | null = null;
  const fresh = (): Promise<Backlog | null> => {
    const now = clock.monotonicMs();
    if (last === null || now - last.takenAtMs >= FRESH_MS) {
      const backlog = read().catch((error: unknown) => {
        logger.warn({ err: error }, 'backlog not read for metrics');
        return null;
      });
      last = { takenAtMs: now, backlog };
    }
    return last.backlog;
  };
  for (const [name, help, key] of GAUGES)
    metrics.gauge({ name, help }, async (gauge) => gauge.set((await fresh())?.[key] ?? Number.NaN));
}
