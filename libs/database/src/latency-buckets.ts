/**
 * Upper ends of the buckets in which times from accepted to registered are counted, milliseconds; one more bucket holds what is longer.
 * They are part of what `latency_minutes` holds: a change needs a migration.
 */
export const LATENCY_BOUNDS_MS = [
  ...[10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000],
  ...[30_000, 60_000, 300_000, 1_800_000, 7_200_000],
] as const;

/** How long the histograms of minutes are kept. */
export const LATENCY_KEPT_HOURS = 25;
