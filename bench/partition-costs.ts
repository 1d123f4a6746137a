import type { PrismaService } from '#database';
import { secondsOf } from './processor-time.js';
import type { Figure } from './report.js';
import { alternate, median, percentile } from './statistics.js';

/** Seconds of processor time of its one session at PostgreSQL. */
export async function sessionSeconds(prisma: PrismaService, work: () => Promise<void>): Promise<number> {
  const [session] = await prisma.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const before = secondsOf(session?.pid ?? null);
  await work();
  return secondsOf(session?.pid ?? null) - before;
}

/** The same work with one table and with partitions in turn, after a round of each that does not count. Costs are seconds, by what is done. */
export async function partitionsBesideOne<What extends string>(
  [one, parts]: readonly [Measured<What>, Measured<What>],
  rounds: number,
  names: Readonly<Record<What, string>>,
): Promise<Figure[]> {
  await one.costs();
  await parts.costs();
  const { a, b } = await alternate(
    rounds,
    () => one.costs(),
    () => parts.costs(),
  );
  return (Object.keys(names) as What[]).flatMap((what) => {
    const [without = [], within = []] = [a, b].map((costs) => costs.map((each) => each[what]));
    return partitionFigures(names[what], without, within);
  });
}

interface Measured<What extends string> {
  costs(): Promise<Readonly<Record<What, number>>>;
}

/** @param without seconds in each round with one table. @param within the same with partitions */
function partitionFigures(name: string, without: readonly number[], within: readonly number[]): Figure[] {
  const ratios = within.map((cost, round) => cost / (without[round] ?? Number.NaN));
  return [
    { name: `${name}: one table`, value: median(without) * 1e6, unit: 'µs of PostgreSQL' },
    { name: `${name}: partitions`, value: median(within) * 1e6, unit: 'µs of PostgreSQL' },
    {
      ...{ name: `${name}: partitions to one table`, value: median(ratios), unit: '×' },
      spread: [percentile(ratios, 25), percentile(ratios, 75)],
    },
  ];
}
