import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type Aggregator } from 'prom-client';

/** From one millisecond to longer than the longest deadline towards a device. */
const DURATION_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/**
 * Between two samples of how late the event loop is. Each wakes the process: every ten milliseconds, the default, were a fourth of what a
 * program at rest took (docs/adr/0194-loops-at-rest.md). It is the least that the gauges of the samples say.
 */
const LOOP_SAMPLE_MS = 100;
/**
 * What the workers of a program make together of prom-client's own gauges. It leaves out when they started, and gives the mean of how late
 * they are: beside idle ones, and the process above them, one that is stuck would not be seen.
 */
const TOGETHER_OF_DEFAULTS: Readonly<Record<string, Aggregator>> = {
  // Of the program, which is its oldest process; workers that were replaced are counted.
  process_start_time_seconds: 'min',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
};

export interface MetricText<Label extends string> {
  name: string;
  help: string;
  labels?: readonly Label[];
  /** What the values of several workers of a program make together; their sum unless said. */
  together?: Aggregator;
}

/** What a scrape is answered with. */
export interface MetricsText {
  contentType: string;
  text: string;
}

export async function readRegistry(registry: Registry): Promise<MetricsText> {
  return { contentType: registry.contentType, text: await registry.metrics() };
}

/** The metrics of one program: one registry, no global state. Labels must come from small fixed sets. */
export class Metrics {
  readonly registry = new Registry();
  private source = (): Promise<MetricsText> => readRegistry(this.registry);
  readonly httpDuration: Histogram<'method' | 'route' | 'status'>;
  /** By the code of their problem document, so that an attack is seen by its kind. */
  readonly httpProblems: Counter<'code'>;
  /** 0 in a program without workers: alerts ask for it everywhere. */
  readonly workerRestarts: Counter;

  /** @param program value of the label `program` on every series */
  constructor(program: string) {
    this.registry.setDefaultLabels({ program });
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
    for (const [name, together] of Object.entries(TOGETHER_OF_DEFAULTS)) {
      const metric = this.registry.getSingleMetric(name);
      if (metric) Object.assign(metric, { aggregator: together });
    }
    this.httpDuration = this.durations({
      name: 'http_request_duration_seconds',
      help: 'Time from the first byte of a request to the end of its answer',
      labels: ['method', 'route', 'status'],
    });
    this.httpProblems = this.counter({
      name: 'http_problems_total',
      help: 'Requests that were answered with a problem document, by its code',
      labels: ['code'],
    });
    this.workerRestarts = this.counter({
      name: 'program_worker_restarts_total',
      help: 'Workers that died and were replaced',
    });
  }

  /** All of them in Prometheus' text format, as of now. */
  read(): Promise<MetricsText> {
    return this.source();
  }

  /** In a worker: those of all workers, wherever they are added up. */
  readFrom(source: () => Promise<MetricsText>): void {
    this.source = source;
  }

  counter<Label extends string = never>({ name, help, labels = [] }: MetricText<Label>): Counter<Label> {
    return new Counter({ name, help, labelNames: labels, registers: [this.registry] });
  }

  /**
   * A counter of what the program counts itself; a gauge would not say that it only grows (workers/worker-counts.ts).
   * @param collect called at each scrape with the counter at nothing, to add what was counted so far
   */
  total<Label extends string = never>(
    { name, help, labels = [] }: MetricText<Label>,
    collect: (counter: Counter<Label>) => void,
  ): Counter<Label> {
    return new Counter<Label>({
      ...{ name, help, labelNames: labels, registers: [this.registry] },
      collect(this: Counter<Label>) {
        this.reset();
        collect(this);
      },
    });
  }

  /** @param collect called at each scrape, to set the gauge from the present state */
  gauge<Label extends string = never>(
    { name, help, labels = [], together = 'sum' }: MetricText<Label>,
    collect?: (gauge: Gauge<Label>) => void | Promise<void>,
  ): Gauge<Label> {
    return new Gauge<Label>({
      name,
      help,
      labelNames: labels,
      registers: [this.registry],
      aggregator: together,
      ...(collect && {
        collect(this: Gauge<Label>) {
          return collect(this);
        },
      }),
    });
  }

  /** A histogram of seconds. @param buckets upper bounds; those of a request's duration unless given */
  durations<Label extends string = never>({
    name,
    help,
    labels = [],
    buckets = DURATION_BUCKETS_S,
  }: MetricText<Label> & { buckets?: number[] }): Histogram<Label> {
    return new Histogram({ name, help, labelNames: labels, buckets, registers: [this.registry] });
  }
}
