import { jest } from '@jest/globals';
import { CASES } from '../cases.js';
import type { FaultCase } from './case.js';
import { HEADER, rowAsMarkdown, type Row } from './row.js';
import { runCase } from './run-case.js';
import { startStage, type Stage, type StageKind } from './stage.js';

/** Cases of one file of `npm test` or `npm run test:long`: on one system, one after the other, then those that disturb no other case side by side. */
export interface Tenth {
  kind: StageKind;
  inTurn: readonly string[];
  /** They touch registers of their own alone. */
  sideBySide: readonly string[];
}

/** One file each, so that they run beside each other. */
export const TENTHS = {
  fleet: {
    kind: 'fleet',
    inTurn: ['1', '2a', '4', '8', '10', '11', '14', '17', '22'],
    sideBySide: ['2b', '3', '9', '12', '13'],
  },
  outages: { kind: 'everything', inTurn: ['5', '6', '6b', '7', '15'], sideBySide: [] },
  payments: { kind: 'payments', inTurn: ['16a', '16b', '16c'], sideBySide: [] },
  providers: { kind: 'payments', inTurn: ['16d', '16e', '16f'], sideBySide: [] },
  line: { kind: 'line', inTurn: ['18a', '19', '20'], sideBySide: [] },
  nation: { kind: 'replicated', inTurn: ['21'], sideBySide: [] },
  releases: { kind: 'releases', inTurn: ['23'], sideBySide: [] },
  lagging: { kind: 'lagging', inTurn: ['24'], sideBySide: [] },
  lossy: { kind: 'lossy', inTurn: ['18b'], sideBySide: [] },
} as const satisfies Record<string, Tenth>;

/** Registers a file's tests. */
export function holdTenth({ kind, inTurn, sideBySide }: Tenth): void {
  // The release before is built in a hook: minutes on a busy machine.
  jest.setTimeout(1_200_000);
  /** Drawn anew each time and printed: `npm run test:faults -- 4 --tenth --seed …` repeats what was drawn. */
  const seed = Math.floor(Math.random() * 1_000_000);
  const rows: Row[] = [];
  let stage: Stage;

  beforeAll(async () => {
    stage = await startStage(kind);
  });

  afterAll(async () => {
    process.stdout.write(`${[...HEADER, ...rows.map(rowAsMarkdown)].join('\n')}\n`);
    await stage?.stop();
  });

  const expectToHold = async (fault: FaultCase): Promise<void> => {
    const row = await runCase(fault, stage, { seed, scale: 'quick', judgesTimes: false, isLong: false });
    rows.push(row);
    // A tool that is not there is a failure in CI, where everything is to be tried.
    const isUntried = process.env['CI'] !== undefined && row.skipped?.includes('not installed') === true;
    expect({ case: `${row.number}, seed ${row.seed}`, failures: isUntried ? [row.skipped] : row.failures }).toEqual({
      case: `${row.number}, seed ${row.seed}`,
      failures: [],
    });
  };

  test.each(named(inTurn))('case $number: $name', (fault) => expectToHold(fault));
  if (sideBySide.length > 0) {
    test(`side by side: cases ${sideBySide.join(', ')}`, async () => {
      await Promise.all(named(sideBySide).map(expectToHold));
    });
  }
}

function named(numbers: readonly string[]): FaultCase[] {
  return numbers.map((number) => CASES.find((one) => one.number === number)!);
}
