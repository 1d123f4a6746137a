/** Median of an odd or even number of values. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Nearest-rank percentile. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(Math.ceil((percent / 100) * sorted.length) - 1, 0);
  return sorted[rank] ?? Number.NaN;
}

/** Whether something that should not grow grows: median of the last fifth of the samples to that of the second. */
export function growth(samples: readonly number[]): number {
  const part = (from: number, to: number): number =>
    median(samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to)));
  return part(0.8, 1) / part(0.2, 0.4);
}

/** How long each of so many took, one after the other, milliseconds. */
export async function timed(count: number, work: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let done = 0; done < count; done += 1) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times;
}

/** Runs A and B alternately, each first in every other round, so that a machine that slows down slows both. */
export async function alternate<T>(
  rounds: number,
  a: () => Promise<T>,
  b: () => Promise<T>,
): Promise<{ a: T[]; b: T[] }> {
  const results: { a: T[]; b: T[] } = { a: [], b: [] };
  for (let round = 0; round < rounds; round += 1) {
    const isTurned = round % 2 === 1;
    if (isTurned) results.b.push(await b());
    results.a.push(await a());
    if (!isTurned) results.b.push(await b());
  }
  return results;
}
