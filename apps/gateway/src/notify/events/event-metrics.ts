import type { Metrics } from '#runtime';
import type { EventHorizon } from './event-horizon.js';
import type { EventStreams } from './event-streams.js';

/** What holds up the feed of events, and what soon may. */
export function observeEvents(metrics: Metrics, horizon: EventHorizon, streams: EventStreams): void {
  metrics.gauge({ name: 'event_streams_open', help: 'Streams of GET /v1/events/stream that are open' }, (gauge) =>
    gauge.set(streams.open),
  );
  metrics.gauge(
    {
      name: 'database_oldest_transaction_seconds',
      help: 'For how long the oldest writing transaction of the whole server has been in flight',
      together: 'max',
    },
    (gauge) => gauge.set(horizon.oldestTransactionMs / 1_000),
  );
  metrics.gauge(
    {
      name: 'events_held_up_seconds',
      help: 'For how long readers of events have waited for the same transaction',
      together: 'max',
    },
    (gauge) => gauge.set(horizon.heldUpMs / 1_000),
  );
}
