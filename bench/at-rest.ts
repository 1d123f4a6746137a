import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startCounterparts, startOurs, type Build } from './cost-builds.js';
import { sell, settled } from './cost.js';
import type { Figure } from './report.js';
import { Meter, totalSeconds } from './spent.js';

export interface AtRestOptions {
  /** Sold before, so that caches and connections are as on a day of work. */
  receipts: number;
  /** Between the last sale and the measurement: what follows a load (vacuum, a checkpoint) has ended. */
  quietSeconds: number;
  seconds: number;
  /** Another checkout that is built, of another version, to be measured beside this one. */
  against?: string;
}

/** What an installation takes while nothing is sold: each build alone, a hundred registers behind it. */
export async function benchAtRest(options: AtRestOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, queue, checkout] of [
    ['queue in PostgreSQL', 'postgres', undefined],
    ['queue on Redis', 'redis', undefined],
    ...(options.against === undefined ? [] : ([['before, PostgreSQL', 'postgres', options.against]] as const)),
  ] as const) {
    const build = await startOurs(name, queue, checkout);
    figures.push(...(await measure(build, options)));
    await build.stop();
  }
  const counterparts = await startCounterparts();
  figures.push(...(await measure(counterparts.obvious, options)));
  await counterparts.stop();
  return figures;
}

async function measure(build: Build, { receipts, quietSeconds, seconds }: AtRestOptions): Promise<Figure[]> {
  const meter = await Meter.of(build);
  try {
    await sell({ build, meter }, { receipts, perSecond: null });
    await settled(build, meter);
    const client = new pg.Client({ connectionString: build.adminUrl });
    await client.connect();
    await client.query('VACUUM ANALYZE');
    await client.query('CHECKPOINT');
    await client.end();
    await delay(quietSeconds * 1_000);
    const spent = await meter.measure(() => delay(seconds * 1_000));
    const aSecond = (value: number): number => (value * 1_000) / seconds;
    return [
      { name: `${build.name}: all processes`, value: aSecond(totalSeconds(spent)), unit: 'ms/s' },
      ...Object.entries(spent.seconds).map(([program, value]) => ({
        name: `${build.name}: of it ${program}`,
        value: aSecond(value),
        unit: 'ms/s',
      })),
      { name: `${build.name}: transactions`, value: spent.transactions / seconds, unit: '1/s' },
    ];
  } finally {
    await meter.end();
  }
}
