import type { PrismaService } from '#database';
import { secondsOf } from './processor-time.js';
import type { Figure } from './report.js';
import { median, percentile } from './statistics.js';

/** Seconds of processor time of its one session at PostgreSQL. */
export async function sessionSeconds(prisma: PrismaService, work: () => Promise<void>): Promise<number> {
  const [session] = await prisma.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const before = secondsOf(session?.pid ?? null);
  await work();
  return secondsOf(session?.pid ?? null) - before;
}

/** @param without seconds in each round with one table. @param within the same with partitions */
export function partitionFigures(name: string, without: readonly number[], within: readonly number[]): Figure[] {
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
