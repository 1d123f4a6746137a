/** Samples of one quantity at even distances. */
export interface Course {
  name: string;
  values: readonly number[];
  /** What it may grow by over the judged time, besides `share` of its middle. */
  allowance: number;
  share: number;
}

export interface Judged {
  name: string;
  /** The middle of what was judged. */
  level: number;
  /** Growth over the judged time, by the slope. */
  growth: number;
  mayGrow: number;
  isFlat: boolean;
}

/** Caches fill and the heap finds its size first: this share of the samples is not judged. */
const WARM_UP = 1 / 3;
/** Fewer say nothing about a slope. */
const FEWEST = 6;

/** Whether a quantity grows: by the median of the slopes of all pairs, which single peaks do not move. */
export function judgeSlope({ name, values, allowance, share }: Course): Judged {
  const judged = values.slice(Math.floor(values.length * WARM_UP)).filter(Number.isFinite);
  const level = middle(judged);
  const mayGrow = allowance + share * level;
  if (judged.length < FEWEST) return { name, level, growth: Number.NaN, mayGrow, isFlat: false };
  const slopes = judged.flatMap((late, to) => judged.slice(0, to).map((early, from) => (late - early) / (to - from)));
  const growth = middle(slopes) * (judged.length - 1);
  return { name, level, growth, mayGrow, isFlat: growth <= mayGrow };
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
