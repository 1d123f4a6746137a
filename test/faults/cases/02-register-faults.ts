import { setTimeout as delay } from 'node:timers/promises';
import type { CaseRun, FaultCase, Outcome } from '../frame/case.js';
import { FaultPost, FIVE_FAULTS } from '../frame/register-faults.js';
import { Load, strikeAlong } from '../frame/load.js';
import { judge } from '../frame/truth.js';
import { setFaults } from '../../system/outside-world.js';
import { startMoreRegisters } from '../../system/more-registers.js';
import { IMPATIENT } from '../frame/stage.js';

/** One percent of the receipts meets each of the five. */
const SHARE = FIVE_FAULTS.length / 100;

export const registerFaultsWithKeys: FaultCase = {
  number: '2a',
  name: 'register faults, 1 % each, then a storm of them, registers with keys and journal',
  stage: 'fleet',
  full: { receipts: 3_000, strikes: 3_000 * SHARE },
  tenth: { receipts: 300, strikes: 300 * SHARE },
  quick: { receipts: 200, strikes: 10 },
  maxSeconds: 600,
  async run({ stage: { system }, size, chance, prefix }) {
    const { tills } = system.merchant;
    const faults = new FaultPost(system, tills, chance);
    const load = new Load(system.client, { prefix, chance, total: size.receipts, waitS: 10 });
    const delayMs = IMPATIENT.sendTimeoutMs + 1_500;
    await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, (nth) => faults.post(nth, delayMs));
    await load.end();
    const left = await faults.clear();
    await setFaults(system, STORM);
    const storm = new Load(system.client, { prefix: `${prefix}-s`, chance, total: size.receipts / 5, asyncShare: 0.5 });
    await storm.end();
    await setFaults(system, []);
    const verdict = await judge(system, [load, storm], { prefix, tills });
    return { ...verdict, kills: 0, figures: [`${size.strikes - left} faults struck`] };
  },
};

/** Afterwards, for a fifth as many receipts: hardly anything goes through at the first try. */
const STORM = [
  ...['drop_request', 'drop_answer', 'error_after'].map((fault) => ({ fault, rate: 0.15 })),
  { fault: 'refuse', code: 'S-004', rate: 0.1 },
];

/**
 * A register that knows only the specification. The settle time must be longer than anything can still be at work inside
 * after the deadline: here a request sleeps 2.5 s, is given up after 1.5 s, and is waited for 3 s more.
 */
const SPECIFICATION_ONLY = { sendTimeoutMs: 1_500, callTimeoutMs: 1_500, settleMs: 3_000 };
const SLEEP_MS = 2_500;

export const registerFaultsByCounters: FaultCase = {
  number: '2b',
  name: 'register faults, 1 % each, specification only, `exclusive`',
  stage: 'fleet',
  full: { receipts: 1_000, strikes: 1_000 * SHARE },
  tenth: { receipts: 100, strikes: 100 * SHARE },
  maxSeconds: 900,
  run: (run) => specificationOnly(run, 'exclusive'),
};

export const registerFaultsOnShared: FaultCase = {
  number: '3',
  name: 'register faults, 1 % each, specification only, `shared` with foreign sales of equal sums',
  stage: 'fleet',
  full: { receipts: 1_000, strikes: 1_000 * SHARE },
  tenth: { receipts: 100, strikes: 100 * SHARE },
  mayPark: true,
  maxSeconds: 900,
  run: (run) => specificationOnly(run, 'shared'),
};

async function specificationOnly(
  { stage: { system }, size, chance, prefix }: CaseRun,
  sharing: 'exclusive' | 'shared',
): Promise<Outcome> {
  const more = await startMoreRegisters(system, {
    count: 5,
    env: { REGISTER_EXTENSIONS: 'off' },
    profile: { ...SPECIFICATION_ONLY, sharing },
  });
  const { tills } = more.merchant;
  const foreign = new ForeignSales(system, `${prefix}-foreign`);
  try {
    // How a foreign register counts is learnt from registrations that are known, before its counters prove anything.
    const warmUp = new Load(more.client, { prefix: `${prefix}-warm`, chance, total: tills.length * 2, perTill: 1 });
    await warmUp.end();
    const faults = new FaultPost(system, tills, chance);
    const load = new Load(more.client, { prefix, chance, total: size.receipts, waitS: 20, asyncShare: 0.1 });
    const selling =
      sharing === 'shared'
        ? foreign.sellUntil(
            tills.map(({ registerUrl }) => registerUrl),
            () => load.isOver,
          )
        : null;
    await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, (nth) => faults.post(nth, SLEEP_MS));
    await load.end();
    await selling;
    const left = await faults.clear();
    const verdict = await judge(system, [warmUp, load], {
      ...{ prefix, tills, hasJournal: false, foreign: foreign.names, drainMs: 120_000 },
    });
    const figures = [`${size.strikes - left} faults struck`];
    if (selling) figures.push(`${foreign.names.size} foreign sales`);
    return { ...verdict, kills: 0, figures };
  } finally {
    await more.program.end();
  }
}

/** Sales 0.7 s apart, and then a pause, in which the counters stand still, and a lane that has to settle goes on. */
const QUEUE_OF_BUYERS = { sales: 20, betweenMs: 700, pauseMs: 10_000 };

/** A cashier who sells at the register itself, at the same sums, so that counters cannot prove whose sale it was. */
class ForeignSales {
  readonly names = new Set<string>();

  constructor(
    private readonly system: CaseRun['stage']['system'],
    private readonly prefix: string,
  ) {}

  async sellUntil(urls: readonly string[], isEnough: () => boolean): Promise<void> {
    await Promise.all(
      urls.map(async (url) => {
        for (let sold = 1; !isEnough(); sold += 1) {
          await this.sell(url);
          await delay(sold % QUEUE_OF_BUYERS.sales === 0 ? QUEUE_OF_BUYERS.pauseMs : QUEUE_OF_BUYERS.betweenMs);
        }
      }),
    );
  }

  private async sell(url: string): Promise<void> {
    const name = `${this.prefix}-${this.names.size + 1}`;
    this.names.add(name);
    const spic = '01905001001000001';
    const item = { name, spic, units: 796, price: 112_000, amount: 1_000, vatPercent: 12, vat: 12_000 };
    const body = JSON.stringify({ type: 'sale', items: [item], received: { cash: 112_000, card: 0 } });
    const headers = { 'content-type': 'application/json', 'x-api-key': this.system.registerApiKey };
    await fetch(`${url}/receipts`, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) })
      .then((response) => response.arrayBuffer())
      .catch(() => undefined); // a fault meant for the gateway hit the cashier: what the register did stands at the OFD
  }
}
