// Promise: what the workers of a program have counted never falls, though one dies, or is late for a scrape.
import { AggregatorRegistry, type MetricObject } from 'prom-client';
import { Metrics } from '../metrics.js';
import { WorkerCounts } from './worker-counts.js';

class FakeWorker {
  readonly metrics = new Metrics('workers');
  private readonly jobs = this.metrics.counter({ name: 'jobs_total', help: 'Jobs', labels: ['kind'] });
  private readonly times = this.metrics.durations({ name: 'job_seconds', help: 'Their times' });
  private counted = 0;

  constructor() {
    this.metrics.gauge({ name: 'jobs_waiting', help: 'Jobs that wait' }, (gauge) => gauge.set(1));
    this.metrics.total({ name: 'jobs_seen', help: 'Counted by the program itself' }, (counter) =>
      counter.inc(this.counted),
    );
  }

  work(times: number): this {
    this.counted += times;
    this.jobs.inc({ kind: 'small' }, times);
    for (let time = 0; time < times; time += 1) this.times.observe(0.2);
    return this;
  }

  read(): Promise<MetricObject[]> {
    return this.metrics.registry.getMetricsAsJSON();
  }
}

async function sumsOf(counts: WorkerCounts): Promise<Record<string, number>> {
  const text = await AggregatorRegistry.aggregate(await counts.parts()).metrics();
  const lines = [...text.matchAll(/^(job\w+)(?:\{(.*)\})? (\S+)$/gm)];
  return Object.fromEntries(
    lines.flatMap(([, name = '', labels = '', value]) =>
      name.endsWith('_bucket') && !labels.includes('le="0.25"') ? [] : [[name, Number(value)]],
    ),
  );
}

test('each as it said last: late, dead, and with others in the places of dead ones', async () => {
  const counts = new WorkerCounts();
  const [steady, late] = [new FakeWorker().work(10), new FakeWorker().work(5)];
  counts.keep(1, await steady.read());
  counts.keep(2, await late.read());
  const fifteen = { jobs_total: 15, jobs_seen: 15, job_seconds_count: 15, job_seconds_bucket: 15 };
  expect(await sumsOf(counts)).toMatchObject(fifteen);

  // The second does not answer, then dies.
  counts.keep(1, await steady.work(1).read());
  expect(await sumsOf(counts)).toMatchObject({ jobs_total: 16, job_seconds_count: 16, job_seconds_bucket: 16 });
  counts.end(2);
  expect(await sumsOf(counts)).toMatchObject({ jobs_total: 16, jobs_seen: 16 });

  counts.keep(3, await new FakeWorker().work(2).read());
  expect(await sumsOf(counts)).toMatchObject({ jobs_total: 18, jobs_seen: 18, job_seconds_bucket: 18 });
  expect(await sumsOf(counts)).not.toHaveProperty('jobs_waiting');
});

test('of those that ended one sum is kept, however many they were', async () => {
  const counts = new WorkerCounts();
  for (let worker = 1; worker <= 20; worker += 1) {
    counts.keep(worker, await new FakeWorker().work(3).read());
    counts.end(worker);
    expect((await counts.parts()).length).toBe(1);
  }
  // Never read: it has no sum.
  counts.end(99);
  expect(await sumsOf(counts)).toMatchObject({ jobs_total: 60, jobs_seen: 60, job_seconds_count: 60 });
});

test('a worker that ends while the sum is made is in it once', async () => {
  const counts = new WorkerCounts();
  for (const worker of [1, 2, 3]) counts.keep(worker, await new FakeWorker().work(worker).read());
  counts.end(1);
  counts.end(2);
  const parts = counts.parts();
  counts.end(3);
  await parts;
  expect(await sumsOf(counts)).toMatchObject({ jobs_total: 6, jobs_seen: 6 });
});
