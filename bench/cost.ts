import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { startCounterparts, startOurs, type Build } from './cost-builds.js';
import type { Figure } from './report.js';
import { Meter, totalSeconds, type Spent } from './spent.js';
import { median, percentile } from './statistics.js';

export interface CostOptions {
  rounds: number;
  /** Of one round at full load; of the others as many as take about as long. */
  receipts: number;
  idleSeconds: number;
  /** Another checkout that is built, of another version, to be measured beside this one. */
  against?: string;
}

interface Round {
  /** Milliseconds of processor time per fiscalised receipt. */
  processorMs: number;
  postgresMs: number;
  gatewayMs: number;
  relayMs: number;
  transactions: number;
  walKb: number;
  perSecond: number;
}

interface Measured {
  build: Build;
  meter: Meter;
  /** By share of the capacity, as `LOADS` has them. */
  rounds: Map<Load, Round[]>;
  idle: number[];
}

const LOADS = ['100 %', '50 %', '25 %'] as const;
type Load = (typeof LOADS)[number];
const SHARES: Readonly<Record<Load, number>> = { '100 %': 1, '50 %': 0.5, '25 %': 0.25 };
/** Callers at full load. */
const CALLERS = 32;
const SETTLED_WITHIN_MS = 60_000;

/**
 * What a fiscalised receipt costs: the processor time of all processes but the registers, from /proc, with PostgreSQL's transactions
 * and log; alternating with the bare counterpart and the obvious build, each of which fiscalises the same sale on a hundred registers.
 * At full load sales come as fast as they are accepted; at half and a quarter at that share of what the obvious build reaches.
 */
export async function benchCost(options: CostOptions): Promise<Figure[]> {
  const counterparts = await startCounterparts();
  const ours: Build[] = [];
  const measured: Measured[] = [];
  try {
    ours.push(await startOurs('queue in PostgreSQL', 'postgres'), await startOurs('queue on Redis', 'redis'));
    const { against } = options;
    if (against !== undefined)
      ours.push(
        await startOurs('before, PostgreSQL', 'postgres', against),
        await startOurs('before, Redis', 'redis', against),
      );
    const { obvious, bare } = counterparts;
    // Beside another version the bare one has nothing to say.
    const others = against === undefined ? [bare] : [];
    for (const build of [obvious, ...ours, ...others]) measured.push(await begin(build));
    await inTurn(measured, options);
    return await figuresOf(measured);
  } finally {
    await Promise.all(measured.map(({ meter }) => meter.end()));
    await Promise.all(ours.map((build) => build.stop()));
    await counterparts.stop();
  }
}

async function begin(build: Build): Promise<Measured> {
  return { build, meter: await Meter.of(build), rounds: new Map(LOADS.map((load) => [load, []])), idle: [] };
}

async function inTurn(measured: readonly Measured[], { rounds, receipts, idleSeconds }: CostOptions): Promise<void> {
  for (const each of measured) await sell(each, { receipts: Math.max(100, receipts / 4), perSecond: null });
  let capacity = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const load of LOADS) {
      // Each round the other way round: what a machine does over time falls on all alike.
      const order = round % 2 === 0 ? measured : measured.toReversed();
      for (const each of order) {
        const share = SHARES[load];
        // The first of all is the obvious build at full load.
        const perSecond = share === 1 ? null : share * capacity;
        const sold = await sell(each, { receipts: Math.round(receipts * share), perSecond });
        each.rounds.get(load)?.push(sold);
        if (share === 1 && each.build.name === 'obvious') capacity = sold.perSecond;
      }
    }
    console.error(`round ${round + 1} of ${rounds}`);
    for (const each of measured) {
      const { meter, idle } = each;
      idle.push((totalSeconds(await meter.measure(() => delay(idleSeconds * 1_000))) * 1_000) / idleSeconds);
    }
  }
}

export async function sell(
  { build, meter }: Pick<Measured, 'build' | 'meter'>,
  load: { receipts: number; perSecond: number | null },
): Promise<Round> {
  let seconds = 0;
  const spent = await meter.measure(async () => {
    const begun = performance.now();
    await post(build, load);
    await settled(build, meter);
    seconds = (performance.now() - begun) / 1_000;
  });
  return roundOf(spent, load.receipts, seconds);
}

export async function settled(build: Build, meter: Meter): Promise<void> {
  const deadline = performance.now() + SETTLED_WITHIN_MS;
  while ((await meter.underWay()) > 0) {
    if (performance.now() > deadline) throw new Error(`${build.name} did not fiscalise all of its sales`);
    await delay(50);
  }
}

function roundOf(spent: Spent, receipts: number, seconds: number): Round {
  const perReceipt = (program: string): number => ((spent.seconds[program] ?? 0) * 1_000) / receipts;
  return {
    processorMs: (totalSeconds(spent) * 1_000) / receipts,
    postgresMs: perReceipt('PostgreSQL'),
    gatewayMs: perReceipt('gateway'),
    relayMs: perReceipt('relay'),
    transactions: spent.transactions / receipts,
    walKb: spent.walBytes / receipts / 1_024,
    perSecond: receipts / seconds,
  };
}

/** Without a rate as fast as callers are answered; else at even intervals, whether those before have been answered or not. */
async function post(
  build: Build,
  { receipts, perSecond }: { receipts: number; perSecond: number | null },
): Promise<void> {
  const { origin, pathname: path } = new URL(build.url);
  const pool = new Pool(origin, { connections: CALLERS });
  const one = async (sale: number): Promise<void> => {
    const body = build.bodies[sale % build.bodies.length] ?? '';
    const { statusCode, body: answer } = await pool.request({ method: 'POST', path, headers: build.headers, body });
    const text = await answer.text();
    if (statusCode > 299) throw new Error(`${build.name} answered ${statusCode}: ${text}`);
  };
  if (perSecond === null) {
    let next = 0;
    const caller = async (): Promise<void> => {
      while (next < receipts) await one(next++);
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
  } else {
    const begun = performance.now();
    const sent: Promise<void>[] = [];
    for (let sale = 0; sale < receipts; sale += 1) {
      const wait = begun + (sale * 1_000) / perSecond - performance.now();
      if (wait > 0) await delay(wait);
      sent.push(one(sale));
    }
    await Promise.all(sent);
  }
  await pool.close();
}

async function figuresOf(measured: readonly Measured[]): Promise<Figure[]> {
  const [obvious] = measured;
  if (!obvious) return [];
  const figures = LOADS.flatMap((load) => measured.flatMap((each) => figuresAt(load, each, obvious)));
  for (const { build, meter, idle } of measured) {
    figures.push({ name: `at rest, ${build.name}: processor time per second`, ...ofAll(idle), unit: 'ms' });
    const { rows, whole } = await meter.bytesAtRest();
    figures.push(
      { name: `bytes at rest, ${build.name}: rows`, value: rows / 1_024, unit: 'KB' },
      { name: `bytes at rest, ${build.name}: tables with indexes`, value: whole / 1_024, unit: 'KB' },
    );
  }
  return figures;
}

function figuresAt(load: Load, each: Measured, obvious: Measured): Figure[] {
  const rounds = each.rounds.get(load) ?? [];
  const others = obvious.rounds.get(load) ?? [];
  const name = (figure: string): string => `${load}, ${each.build.name}: ${figure}`;
  const of = (pick: (round: Round) => number): Pick<Figure, 'value' | 'spread'> => ofAll(rounds.map(pick));
  const to = (pick: (round: Round) => number): Pick<Figure, 'value' | 'spread'> =>
    ofAll(rounds.map((round, index) => pick(round) / pick(others[index] ?? round)));
  const compared: Figure[] = [
    { name: name('processor time, to the obvious build'), ...to((round) => round.processorMs), unit: '×' },
    { name: name('rate, to the obvious build'), ...to((round) => round.perSecond), unit: '×' },
  ];
  return [
    { name: name('processor time per receipt'), ...of((round) => round.processorMs), unit: 'ms' },
    ...(each === obvious ? [againstItself(name, rounds)] : compared),
    { name: name('of it gateway'), ...of((round) => round.gatewayMs), unit: 'ms' },
    { name: name('of it relay'), ...of((round) => round.relayMs), unit: 'ms' },
    { name: name('of it PostgreSQL'), ...of((round) => round.postgresMs), unit: 'ms' },
    { name: name('transactions per receipt'), ...of((round) => round.transactions), unit: '' },
    { name: name('log per receipt'), ...of((round) => round.walKb), unit: 'KB' },
    { name: name('rate'), ...of((round) => round.perSecond), unit: 'receipts/s' },
  ];
}

/** What one load gives against itself: each round to the one before. */
function againstItself(name: (figure: string) => string, rounds: readonly Round[]): Figure {
  const ratios = rounds
    .slice(1)
    .map(({ processorMs }, index) => processorMs / (rounds[index]?.processorMs ?? Number.NaN));
  return { name: name('processor time, to its own round before'), ...ofAll(ratios), unit: '×' };
}

function ofAll(values: readonly number[]): Pick<Figure, 'value' | 'spread'> & { value: number } {
  return { value: median(values), spread: [percentile(values, 25), percentile(values, 75)] };
}
