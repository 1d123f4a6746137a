import type { LaneBell } from './lane-bell.js';
import type { QueueCounters } from './queue-trouble.js';

/** What the queue needs of a metrics registry; `Metrics` of #runtime fits. */
export interface MetricsSink {
  gauge(
    text: { name: string; help: string; together?: 'sum' | 'min' },
    collect: (gauge: { set(value: number): void }) => void,
  ): unknown;
  total(text: { name: string; help: string }, collect: (counter: { inc(value: number): void }) => void): unknown;
}

const HELP: Readonly<Record<keyof QueueCounters, string>> = {
  rings: 'Rings made since start',
  adds: 'Jobs that the queue took; coalesced rings have none of their own',
  addFailures: 'Rings that the queue did not take at once',
  droppedRings: 'Rings dropped because too many devices waited during an outage; the sweeper finds those lanes',
  wakes: 'Jobs handed to this program',
  handlerFailures: 'Jobs whose work failed',
  errors: 'Connection errors and failed checks of the queue; rises while it is away',
};

/** Counters of bell and listener, read at each scrape, and whether the bell is up. */
export function observeQueue(sink: MetricsSink, counters: QueueCounters, bell: LaneBell): void {
  for (const [key, help] of Object.entries(HELP) as [keyof QueueCounters, string][]) {
    const name = `lane_queue_${key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
    sink.total({ name, help }, (counter) => counter.inc(counters[key]));
  }
  sink.gauge({ name: 'lane_queue_up', help: '1 while the queue answers', together: 'min' }, (gauge) =>
    gauge.set(bell.state === 'up' ? 1 : 0),
  );
}
