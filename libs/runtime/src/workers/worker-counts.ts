import { AggregatorRegistry, type MetricObject } from 'prom-client';

/** What prom-client says of itself; its own types have numbers here, which no metric has. */
export function isGauge({ type }: MetricObject): boolean {
  return String(type) === 'gauge';
}

/**
 * What the workers of a program have counted, each as it said last. A sum over those that answer now falls with each that dies or is late,
 * and Prometheus takes what falls for a program that began anew: it would see all that the others ever counted as counted just now.
 */
export class WorkerCounts {
  private readonly living = new Map<number, MetricObject[]>();
  /** One sum, and behind it those that ended since it was made: each was read since then, so no more than there are workers. */
  private readonly ended: MetricObject[][] = [];

  /** Counters and histograms of a worker; gauges, which say how things stand now, are left out. */
  keep(worker: number, metrics: readonly MetricObject[]): void {
    this.living.set(
      worker,
      metrics.filter((metric) => !isGauge(metric)),
    );
  }

  /** What it has counted stays counted. */
  end(worker: number): void {
    const last = this.living.get(worker);
    this.living.delete(worker);
    if (last) this.ended.push(last);
  }

  /** To be added up. */
  async parts(): Promise<MetricObject[][]> {
    const { length } = this.ended;
    if (length > 1) {
      const sum = await AggregatorRegistry.aggregate(this.ended.slice()).getMetricsAsJSON();
      // Others may have ended meanwhile: they stand behind these.
      this.ended.splice(0, length, sum);
    }
    return [...this.ended, ...this.living.values()];
  }
}
