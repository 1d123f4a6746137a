import { createEmptyDatabase } from '../../../libs/database/src/testing/index.js';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { migrate } from '../../../scripts/lib/migrations.mjs';
import { migrateAsReleaseBefore, type Release } from '../../../scripts/lib/release-before.mjs';
import { startPayments, type PaymentsRig } from '../../system/payments-rig.js';
import { skipped, type CaseRun, type FaultCase, type Outcome } from '../frame/case.js';
import { Load, seenBehindBalancer } from '../frame/load.js';
import { PaymentLoad } from '../frame/payment-load.js';
import { judgePayments } from '../frame/payment-truth.js';
import { IMPATIENT, REGISTERS } from '../frame/stage.js';
import { judge } from '../frame/truth.js';

/** Held, charged, and paid on the provider's page, at providers that every release has had. */
const WAYS = [
  { provider: 'payme', token: 'token-0001' },
  { provider: 'multicard', token: 'token-0001' },
  { provider: 'click', token: 'token-0001' },
  { provider: 'payme' },
  { provider: 'click' },
];
const PROVIDERS = [...new Set(WAYS.map(({ provider }) => provider))];
/** At the end, with what only this release knows. */
const PAYMENTS_OF_TODAY = 8;
/** Waits of the load within one roll: before the migration, after it, after the restart, at each of five programs, at the end. */
const STAGES_OF_A_ROLL = 9;

/**
 * An installation of the release before, migrated by this one and then replaced program by program. Each
 * roll begins with a new database. On the way an old program dies and comes back on the new tables.
 */
export const releaseBefore: FaultCase = {
  number: '23',
  name: 'the release before replaced by this one: migration, then each program, under sales and payments',
  stage: 'releases',
  full: { receipts: 6_000, strikes: 3 },
  tenth: { receipts: 500, strikes: 1 },
  quick: { receipts: 300, strikes: 1 },
  maxSeconds: 1_800,
  async run(run) {
    const { releaseBefore: release } = run.stage;
    if (!release) throw new Error('the stage has no release before');
    if ('missing' in release) return skipped(release.missing);
    const total: Outcome = { receipts: 0, kills: 0, lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [] };
    total.figures = [];
    for (let nth = 0; nth < run.size.strikes; nth += 1) {
      const roll = await rollFrom(release, run, nth);
      for (const key of ['receipts', 'kills', 'lost', 'doubled', 'wrongOrder', 'parked'] as const)
        total[key] += roll[key];
      total.failures.push(...roll.failures);
      total.figures.push(...(roll.figures ?? []));
    }
    return total;
  },
};

async function rollFrom(release: Release, { size, chance, prefix }: CaseRun, nth: number): Promise<Outcome> {
  const rig = await startReleaseBefore(release);
  const { system } = rig;
  const [salesPrefix, paymentsPrefix] = [`${prefix}s${nth}`, `${prefix}p${nth}`];
  const sales = new Load(system.client, { prefix: salesPrefix, chance, waitS: 30, breathMs: 150 });
  const payments = new PaymentLoad(rig, {
    ...{ ways: WAYS, prefix: paymentsPrefix, total: Infinity, desks: 3, breathMs: 200, hasCarts: false },
  });
  const failures: string[] = [];
  try {
    const atEach = Math.ceil(size.receipts / size.strikes / STAGES_OF_A_ROLL);
    const goesOn = (): Promise<void> => sales.reaches(sales.sold.length + atEach);
    await goesOn();
    const { ownerUrl, url } = system.database;
    const { applied } = await migrate({ migrateDatabaseUrl: ownerUrl, databaseUrl: url });
    await goesOn();
    const restarted = chance.pick([...system.gateways, ...system.relays]);
    await restarted.end('SIGKILL');
    await restarted.start();
    const programs = [...system.gateways, ...system.relays, system.register];
    for (const program of programs) {
      await goesOn();
      await program.end('SIGTERM');
      if (program.exitCode !== 0) failures.push(`${program.name} of the release before ended with ${program.exitCode}`);
      program.becomesToday();
      await program.start();
    }
    await goesOn();
    payments.stop();
    const [sold, paid] = [await sales.end(), await payments.end()];
    const ofToday = new PaymentLoad(rig, { ways: WAYS, prefix: paymentsPrefix + 't', total: PAYMENTS_OF_TODAY });
    const paidToday = await ofToday.end();
    const setbacks = [...sold.flatMap((one) => one.setbacks), ...payments.setbacks, ...ofToday.setbacks];
    const { refused, unfit } = seenBehindBalancer(setbacks);
    if (unfit.length > 0) failures.push(`failed calls: ${unfit.join(', ')}`);
    const verdicts = [
      await judgePayments(rig, paid, { prefix: paymentsPrefix, complaints: payments.complaints }),
      await judgePayments(rig, paidToday, { prefix: paymentsPrefix + 't', complaints: ofToday.complaints }),
      await judge(system, [sales], { prefix: salesPrefix, tills: system.merchant.tills, drainMs: 120_000 }),
    ];
    const sum = (key: 'receipts' | 'lost' | 'doubled' | 'wrongOrder' | 'parked'): number =>
      verdicts.reduce((all, verdict) => all + verdict[key], 0);
    return {
      ...{ receipts: sum('receipts'), lost: sum('lost'), doubled: sum('doubled'), wrongOrder: sum('wrongOrder') },
      ...{ parked: sum('parked'), kills: programs.length + 1 },
      failures: [...verdicts.flatMap((verdict) => verdict.failures), ...failures],
      figures: [
        `from ${release.commit}, migrations under load: ${applied.length}, ${paid.length + paidToday.length} payments, ${refused.length} × 503`,
      ],
    };
  } finally {
    sales.stop();
    payments.stop();
    await rig.stop();
  }
}

/** As it was installed: its own migrations, and all its programs but those that play the outside world. */
async function startReleaseBefore(release: Release): Promise<PaymentsRig> {
  const database = await createEmptyDatabase();
  try {
    await migrateAsReleaseBefore(release, database);
    return await startPayments({
      ...{ database, registers: REGISTERS, gateways: 2, relays: 2, profile: IMPATIENT, providers: PROVIDERS },
      ...{ root: release.root, registerRoot: release.root, simulatorPort: await freePorts(1) },
    });
  } catch (error) {
    await database.drop();
    throw error;
  }
}
