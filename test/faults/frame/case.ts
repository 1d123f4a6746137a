import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import type { Stage, StageKind } from './stage.js';
import type { Verdict } from './truth.js';

/** How much of it: as the full table has it, or a tenth. */
export interface Size {
  receipts: number;
  /** Kills, cuts, outages: how often it is broken. */
  strikes: number;
  /** Of a case that is a whole nation. */
  merchants?: number;
  devices?: number;
  /** Of all its shops together, at rest. */
  salesPerSecond?: number;
}

export type Scale = 'full' | 'tenth' | 'quick';

export interface CaseRun {
  stage: Stage;
  size: Size;
  chance: Chance;
  /** Begins the name of every item this case sells, by which its documents are known at the OFD. */
  prefix: string;
  /**
   * Whether times are part of the verdict. Not in `npm test` and `npm run test:long`: there a busy machine must fail nothing but what is
   * wrong, so that counts alone are judged.
   */
  judgesTimes: boolean;
  /** Outages last as long as the table says, instead of a shorter time that shows the same. */
  isLong: boolean;
}

export interface Outcome extends Verdict {
  kills: number;
  /** Measured besides, in words: "p95 210 ms while Redis was away". */
  figures?: string[];
  /** Why the row cannot be filled on this machine. */
  skipped?: string;
}

/** One way of breaking the running system. */
export interface FaultCase {
  /** As the table counts them: 1, 2a, 2b, 3 … */
  number: string;
  /** As the table says it. */
  name: string;
  /** Another name by which it is asked for on the command line. */
  alias?: string;
  stage: StageKind;
  full: Size;
  tenth: Size;
  /** In `npm test` and `npm run test:long`, where a tenth would take too long. */
  quick?: Size;
  /** Whether up to 5 % of the receipts may end as `unknown`, each with its evidence. */
  mayPark?: boolean;
  /** A run that takes longer has failed. */
  maxSeconds: number;
  run(run: CaseRun): Promise<Outcome>;
}

export function skipped(why: string): Outcome {
  return { receipts: 0, kills: 0, lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [], skipped: why };
}
