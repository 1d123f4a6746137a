import { LATENCY_BOUNDS_MS } from '#database';
import type { LatencyMinute, Percentiles } from './overview-view.js';

/** A bucket with something in it. */
export interface BucketRow {
  minute: Date;
  bucket: number;
  count: number;
  max_ms: number;
}

/** Between the ends of the bucket that holds it, as if what is in it were spread evenly: no worse than the bucket is wide. */
export function percentilesOf(rows: readonly BucketRow[]): Percentiles {
  const counts = new Map<number, number>();
  for (const { bucket, count } of rows) counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  const buckets = [...counts].sort(([one], [other]) => one - other);
  const count = buckets.reduce((sum, [, each]) => sum + each, 0);
  if (count === 0) return { count, p50_ms: null, p95_ms: null, p99_ms: null, max_ms: null };
  const maxMs = rows.reduce((most, row) => Math.max(most, row.max_ms), 0);
  const at = (share: number): number => Math.min(maxMs, valueAt(buckets, Math.ceil(count * share)));
  return { count, p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), max_ms: maxMs };
}

/** @param rows oldest first */
export function byMinute(rows: readonly BucketRow[]): LatencyMinute[] {
  const minutes = new Map<string, BucketRow[]>();
  for (const row of rows) {
    const at = row.minute.toISOString();
    const known = minutes.get(at);
    if (known) known.push(row);
    else minutes.set(at, [row]);
  }
  return [...minutes].map(([at, buckets]) => ({ at, ...percentilesOf(buckets) }));
}

function valueAt(buckets: readonly (readonly [number, number])[], rank: number): number {
  let before = 0;
  for (const [bucket, count] of buckets) {
    if (before + count >= rank) {
      const low = LATENCY_BOUNDS_MS[bucket - 1] ?? 0;
      const high = LATENCY_BOUNDS_MS[bucket] ?? Number.MAX_SAFE_INTEGER;
      return high === Number.MAX_SAFE_INTEGER ? high : Math.round(low + ((high - low) * (rank - before)) / count);
    }
    before += count;
  }
  return 0;
}
