// Promise: measuring how late a program is does not keep it awake, and one of its workers that is late or starts anew is seen among the others.
import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, type MetricObject } from 'prom-client';
import { Metrics } from './metrics.js';

/** As prom-client hands them on; its types leave the samples out. */
type Sampled = MetricObject & { values: { value: number }[] };

test('the delay of the event loop is measured ten times a second', async () => {
  const metrics = new Metrics('at-rest');
  await delay(500);
  const { text } = await metrics.read();
  const least = /^nodejs_eventloop_lag_min_seconds\{.*\} ([\d.e-]+)$/m.exec(text)?.[1];
  // Each sample says the time since the one before; by default it would be 0.01.
  expect(Number(least)).toBeGreaterThan(0.05);
  // Without a sample it would be hours.
  expect(Number(least)).toBeLessThan(60);
});

test('what alerts read of each process is there for several workers as well, and says the worst', async () => {
  const read = (): Promise<Sampled[]> => new Metrics('workers').registry.getMetricsAsJSON();
  const parts = await Promise.all([read(), read(), read()]);
  const set = (part: Sampled[] | undefined, name: string, value: number): void => {
    for (const metric of part ?? []) if (metric.name === name) for (const sample of metric.values) sample.value = value;
  };
  const [first, late, last] = parts;
  for (const [part, startedAt, lagS] of [
    [first, 500, 0.1],
    [late, 100, 0.9],
    [last, 900, 0.1],
  ] as const) {
    set(part, 'process_start_time_seconds', startedAt);
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'nodejs_eventloop_lag_seconds']) set(part, name, lagS);
  }
  const text = await AggregatorRegistry.aggregate(parts).metrics();
  expect(text).toMatch(/^process_start_time_seconds\{.*\} 100$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds\{.*\} 0\.9$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds\{.*\} 0\.9$/m);
});
