import { costsOf, MAX_OPEN_MS, MAX_RATIO, type Cost } from '../test/hostile/cost-of-entries.js';
import { openEntries, otherTokenEntries, tokenEntries } from '../test/hostile/entries.js';
import { startTargets } from '../test/hostile/hostile-targets.js';
import { CAN_MEASURE } from '../test/hostile/processor-time.js';
import type { Figure } from './report.js';

/**
 * What the dearest of the hostile bodies costs at each place, in processor time of the program per byte against a harmless body of
 * the same place. It is read from /proc, so that other work on the machine does not count.
 */
export async function benchHostile({ times }: { times: number }): Promise<Figure[]> {
  if (!CAN_MEASURE) throw new Error('Processor time by process is read from /proc: this bench needs Linux.');
  const targets = await startTargets();
  try {
    const figures: Figure[] = [];
    for (const entry of [...openEntries(targets), ...tokenEntries(targets), ...otherTokenEntries(targets)]) {
      const costs = await costsOf(targets.system, entry, times);
      const [dearest] = costs.sort((one, other) => other.ratio - one.ratio);
      if (dearest) figures.push(figureOf(dearest, costs));
    }
    return figures;
  } finally {
    await targets.stop();
  }
}

function figureOf({ place, what, bytes, ratio, harmlessMs, isAuthenticated }: Cost, costs: readonly Cost[]): Figure {
  const size = bytes < 1_024 ? `${bytes} bytes` : `${Math.round(bytes / 1_024)} KiB`;
  const mostMs = Math.max(...costs.map(({ hostileMs }) => hostileMs));
  return {
    name: `${isAuthenticated ? '' : 'without a token: '}${place}, ${size}; dearest of ${costs.length}: ${what}`,
    value: ratio,
    unit: `× a harmless byte; at most ${mostMs.toFixed(1)} ms a request, harmless ${harmlessMs.toFixed(1)} ms`,
    target: isAuthenticated ? `< ${MAX_RATIO} ×` : `< ${MAX_RATIO} ×, < ${MAX_OPEN_MS} ms`,
  };
}
