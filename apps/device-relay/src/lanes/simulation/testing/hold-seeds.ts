import { World, type WorldResult } from './world.js';

/** `SIMULATION_SEEDS=100-199` runs others, for a longer search. */
const [FIRST, LAST] = (process.env['SIMULATION_SEEDS'] ?? '1-24').split('-').map(Number) as [number, number];
const SEEDS = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index);
const RECEIPTS = 4_200;
/** Times one per cent of each fault of a request, and the rest accordingly. */
const HARSHNESS = [0.5, 1, 2, 4];

/** Registers the tests of one half of the seeds: two files, which run beside each other. */
export function holdSeeds(half: 'first' | 'second'): void {
  const middle = Math.ceil(SEEDS.length / 2);
  const seeds = half === 'first' ? SEEDS.slice(0, middle) : SEEDS.slice(middle);
  const results: WorldResult[] = [];

  // A single seed leaves the second half without one.
  const each = seeds.length > 0 ? test.each(seeds) : test.skip.each([0]);
  each('seed %i', async (seed) => {
    const result = await simulate(seed, RECEIPTS);
    results.push(result);
    process.stdout.write(`${row(result)}\n`);
    expect(result.broken).toEqual([]);
    expect(result).toMatchObject({ receipts: RECEIPTS, doubled: 0, lost: 0 });
    const { registered, rejected, cancelled, unknown } = result;
    expect(registered + rejected + cancelled + unknown).toBe(RECEIPTS);
  });

  test('together', () => {
    const sum = (of: (result: WorldResult) => number): number => results.reduce((total, each) => total + of(each), 0);
    const [receipts, unknown, faults] = [
      sum((each) => each.receipts),
      sum((each) => each.unknown),
      sum((each) => each.faults),
    ];
    const together = sum((each) => each.together);
    const percent = ((100 * unknown) / receipts).toFixed(2);
    process.stdout.write(
      `${results.length} seeds: ${receipts} receipts, ${faults} faults, ${together} intents with the result before, unknown ${percent} %\n`,
    );
    expect(receipts).toBe(seeds.length * RECEIPTS);
    expect(together).toBeGreaterThan(receipts / 50);
  });
}

export function simulate(seed: number, receipts: number): Promise<WorldResult> {
  return new World({ seed, receipts, harshness: HARSHNESS[seed % HARSHNESS.length]! }).run();
}

function row({ seed, receipts, faults, simulatedHours, trace, ...rest }: WorldResult): string {
  const { registered, rejected, cancelled, unknown, unknownButRegistered, doubled, lost } = rest;
  const ends = `registered ${registered}  rejected ${rejected}  cancelled ${cancelled}`;
  const open = `unknown ${unknown} (really registered ${unknownButRegistered})  doubled ${doubled}  lost ${lost}`;
  return `seed ${seed}  receipts ${receipts}  faults ${faults}  ${ends}  ${open}  ${simulatedHours.toFixed(1)} h  trace ${trace}`;
}
