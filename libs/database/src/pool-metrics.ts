import type { Metrics } from '#runtime';
import type { PrismaService } from './prisma.service.js';

const OBSERVED = new WeakMap<Metrics, Map<string, PrismaService>>();

/** Gauges of each pool, read at each scrape. Parts of a program may each add theirs. @param pools by name */
export function observePools(metrics: Metrics, pools: Readonly<Record<string, PrismaService>>): void {
  const observed = OBSERVED.get(metrics) ?? beginObserving(metrics);
  for (const [name, pool] of Object.entries(pools)) observed.set(name, pool);
}

function beginObserving(metrics: Metrics): Map<string, PrismaService> {
  const observed = new Map<string, PrismaService>();
  OBSERVED.set(metrics, observed);
  const perPool = (name: string, help: string, valueOf: (pool: PrismaService['connections']) => number): void => {
    metrics.gauge({ name, help, labels: ['pool'] }, (gauge) => {
      for (const [pool, { connections }] of observed) gauge.set({ pool }, valueOf(connections));
    });
  };
  perPool('database_pool_size', 'Connections that the pool may have', ({ size }) => size);
  perPool('database_pool_open', 'Connections that the pool has', ({ open }) => open);
  perPool('database_pool_busy', 'Connections in use', ({ busy }) => busy);
  perPool('database_pool_waiting', 'Statements and transactions that wait for a connection', ({ waiting }) => waiting);
  return observed;
}
