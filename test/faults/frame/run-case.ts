import { setTimeout as delay } from 'node:timers/promises';
import { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import type { CaseRun, FaultCase, Outcome, Scale, Size } from './case.js';
import type { Row } from './row.js';
import type { Stage } from './stage.js';

export interface RunOptions {
  seed: number;
  /** `quick`: a tenth, or less where that would be too long for `npm test` or `npm run test:long`. */
  scale: Scale;
  judgesTimes: boolean;
  isLong: boolean;
}

const MOST_PARKED = 0.05;

/** Runs one case on a stage and fills its row; never rejects: what breaks the run is a failure of the row. */
export async function runCase(fault: FaultCase, stage: Stage, options: RunOptions): Promise<Row> {
  const begin = performance.now();
  const run: CaseRun = {
    stage,
    size: sizeOf(fault, options.scale),
    chance: new Chance(options.seed * 100 + Number.parseInt(fault.number, 36)),
    prefix: `f${fault.number}`,
    judgesTimes: options.judgesTimes,
    isLong: options.isLong,
  };
  const limit = new AbortController();
  const outcome = await Promise.race([
    fault.run(run).catch((error: unknown) => broken(error instanceof Error ? (error.stack ?? error.message) : error)),
    delay(fault.maxSeconds * 1_000, broken(`not finished after ${fault.maxSeconds} s`), { signal: limit.signal }),
  ]);
  limit.abort();
  return {
    number: fault.number,
    name: fault.name,
    ...outcome,
    failures: [...outcome.failures, ...judgeCounts(outcome, fault.mayPark === true)],
    seconds: (performance.now() - begin) / 1_000,
    seed: options.seed,
  };
}

function sizeOf(fault: FaultCase, scale: Scale): Size {
  if (scale === 'full') return fault.full;
  return scale === 'quick' ? (fault.quick ?? fault.tenth) : fault.tenth;
}

function broken(why: unknown): Outcome {
  return { receipts: 0, kills: 0, lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [String(why)] };
}

function judgeCounts({ receipts, lost, doubled, wrongOrder, parked, whyParked }: Outcome, mayPark: boolean): string[] {
  const failures: string[] = [];
  for (const [name, count] of Object.entries({ lost, doubled, 'in wrong order': wrongOrder })) {
    if (count > 0) failures.push(`${count} ${name}`);
  }
  const most = mayPark ? Math.floor(receipts * MOST_PARKED) : 0;
  if (parked > most) failures.push(`${parked} parked, at most ${most} may be: ${whyParked ?? ''}`);
  return failures;
}
