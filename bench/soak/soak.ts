import { setTimeout as delay } from 'node:timers/promises';
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { Load } from '../../test/faults/frame/load.js';
import { PaymentLoad } from '../../test/faults/frame/payment-load.js';
import { judgePayments } from '../../test/faults/frame/payment-truth.js';
import { startStage, type Stage } from '../../test/faults/frame/stage.js';
import { judge } from '../../test/faults/frame/truth.js';
import type { GatewayClient } from '../../test/system/gateway-client.js';
import type { Figure } from '../report.js';
import { RefundLoad } from './refund-load.js';
import { Samples } from './samples.js';
import { strikesOf, type Strike } from './strikes.js';

const SAMPLES_PER_STRIKE = 3;
const NO_STRIKE: Strike = ['nothing', () => Promise.resolve()];
const PAYMENT_WAYS = [
  { provider: 'payme', token: 'token-0001' },
  { provider: 'multicard', token: 'token-0001' },
  { provider: 'click', token: 'token-0001' },
];

export interface SoakOptions {
  minutes: number;
  /** Between two faults. */
  secondsPerStrike: number;
  seed: number;
}

/**
 * Mixed load for a long time with a fault every minute: sales, refunds, payments and reads. Nothing may be lost or doubled, and what
 * the programs that live through it hold must not grow.
 */
export async function benchSoak(options: SoakOptions): Promise<Figure[]> {
  const stage = await startStage('soak');
  try {
    return await soak(stage, options);
  } finally {
    await stage.stop();
  }
}

async function soak(stage: Stage, { minutes, secondsPerStrike, seed }: SoakOptions): Promise<Figure[]> {
  const { system, payments } = stage;
  if (!payments) throw new Error('the stage has no providers');
  const chance = new Chance(seed);
  const survivors = [...system.gateways.slice(0, 1), ...system.relays.slice(0, 1), system.register];
  const sales = new Load(system.client, { prefix: 'soak', chance, perTill: 1, breathMs: 1_000, startWithinMs: 1_000 });
  const refunds = new RefundLoad(system, { prefix: 'back', breathMs: 3_000 });
  const paid = new PaymentLoad(payments, {
    ...{ prefix: 'paid', ways: PAYMENT_WAYS, total: Infinity, desks: 1, breathMs: 2_000 },
  });
  const reads = new Reads(system.client);
  const samples = new Samples(system, survivors);
  const strikes = strikesOf(stage, chance);
  const deadline = performance.now() + minutes * 60_000;
  let struck = 0;
  while (performance.now() < deadline) {
    const [name, strike] = strikes[struck % strikes.length] ?? NO_STRIKE;
    const begin = performance.now();
    await strike();
    struck += 1;
    for (let nth = 1; nth <= SAMPLES_PER_STRIKE; nth += 1) {
      // Not in the first third: what was broken heals there.
      const due = begin + (secondsPerStrike * 1_000 * (nth + 1)) / (SAMPLES_PER_STRIKE + 1);
      await delay(Math.max(0, due - performance.now()));
      await samples.take();
    }
    process.stderr.write(`${String(struck)}: ${name}; ${String(sales.sold.length)} sales, ${samples.latest}\n`);
  }
  for (const load of [paid, reads]) load.stop();
  await Promise.all([sales.end(), refunds.end(), paid.end(), reads.end()]);
  const { tills } = system.merchant;
  const bySales = await judge(system, [sales], { prefix: 'soak', tills, drainMs: 120_000 });
  const byRefunds = await refunds.judge();
  const byPayments = await judgePayments(payments, paid.sold, { prefix: 'paid', complaints: paid.complaints });
  const slopes = samples.judge();
  const failures = [
    ...[...bySales.failures, ...byPayments.failures, ...refunds.complaints],
    ...slopes.filter(({ isFlat }) => !isFlat).map(({ name, growth }) => `${name} grew by ${growth.toFixed(1)}`),
  ];
  const figures: Figure[] = [
    { name: 'soak: time', value: minutes, unit: 'min' },
    { name: 'faults', value: struck, unit: '' },
    { name: 'sales', value: bySales.receipts, unit: '' },
    { name: 'sales taken back', value: refunds.refunded.length, unit: '' },
    { name: 'payments', value: paid.sold.length, unit: '' },
    { name: 'reads', value: reads.answered, unit: '' },
    { name: 'lost', value: bySales.lost + byRefunds.lost + byPayments.lost, unit: '', target: '0' },
    { name: 'doubled', value: bySales.doubled + byRefunds.doubled + byPayments.doubled, unit: '', target: '0' },
    { name: 'in wrong order', value: bySales.wrongOrder, unit: '', target: '0' },
    { name: 'parked', value: bySales.parked + byPayments.parked, unit: '', target: '0' },
    ...slopes.flatMap(({ name, level, growth, mayGrow }) => [
      { name, value: level, unit: '' },
      { name: `${name}: growth`, value: growth, unit: '', target: `≤ ${mayGrow.toFixed(1)}` },
    ]),
  ];
  const isBroken = failures.length > 0 || figures.some(({ target, value }) => target === '0' && value !== 0);
  for (const failure of failures) process.stderr.write(`  ${failure}\n`);
  if (isBroken) process.exitCode = 1;
  return figures;
}

const PATHS = ['/v1/receipts?limit=50', '/v1/events?limit=50', '/v1/payments?limit=20'];

/** Someone who reads all the time; what fails in an outage is read again. */
class Reads {
  answered = 0;
  private isStopped = false;
  private readonly reading: Promise<void>;

  constructor(private readonly client: GatewayClient) {
    this.reading = this.read();
  }

  stop(): void {
    this.isStopped = true;
  }

  async end(): Promise<void> {
    this.stop();
    await this.reading;
  }

  private async read(): Promise<void> {
    for (let nth = 0; !this.isStopped; nth += 1) {
      await delay(1_000);
      const answer = await this.client.get(PATHS[nth % PATHS.length] ?? '/v1/me').catch(() => null);
      if (answer?.status === 200) this.answered += 1;
      if (answer?.status === 401) this.client.forgetToken();
    }
  }
}
