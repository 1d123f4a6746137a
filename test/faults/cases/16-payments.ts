import { setFaults } from '../../system/outside-world.js';
import type { CaseRun, FaultCase } from '../frame/case.js';
import { PaymentLoad } from '../frame/payment-load.js';
import { judgePayments } from '../frame/payment-truth.js';

/** Share of each fault, at the provider and at the register. */
const RATE = 0.01;
const PROVIDER_FAULTS = ['drop_before', 'drop_after', 'error_before', 'error_after', 'malformed', 'decline'];
/** Of the provider's own calls to us. */
const CALL_FAULTS = ['duplicate', 'reorder', 'stale_webhook'];
const REGISTER_FAULTS = ['drop_request', 'drop_answer', 'error_after'];

const BROKEN = '1 % of each fault, kill -9 of gateway, relay and register';

type Way = Record<string, unknown>;

const PATTERNS: readonly (readonly [number: string, name: string, ways: readonly Way[]])[] = [
  [
    '16a',
    'payments held, fiscalised, captured',
    [
      { provider: 'payme', token: 'token-0001' },
      { provider: 'multicard', token: 'token-0001' },
    ],
  ],
  [
    '16b',
    'payments charged or paid on the provider’s page, then fiscalised',
    [{ provider: 'click', token: 'token-0001' }, { provider: 'payme' }, { provider: 'click' }],
  ],
  ['16c', 'payments that the provider keeps if they are fiscalised in its call', [{ provider: 'multicard' }]],
  [
    '16d',
    'payments held at Stripe and Octo, fiscalised, captured',
    [{ provider: 'stripe', token: 'pm_card_0001' }, { provider: 'octo' }],
  ],
  [
    '16e',
    'payments charged by token or page at Uzum and ATMOS, and where the rules lead, then fiscalised',
    [
      { provider: 'uzum', token: 'token-0001' },
      { provider: 'uzum' },
      { provider: 'atmos', token: 'token-0001' },
      { provider: 'auto' },
    ],
  ],
];

/**
 * Every provider, by what one account of it takes without a person's help; Paynet's customers name the payment at a terminal. Not here:
 * Click by phone and Uzum Fast Pay, where a call that was lost on its way cannot be distinguished from one that was done, so that it
 * stays open for hours or becomes a person's, and what another setting of the same account would be (one step for two, a charge for a
 * hold). Those ways are struck one by one in test/payments/every-way.int-spec.ts.
 */
const EVERY_PROVIDER: readonly Way[] = [...PATTERNS.flatMap(([, , ways]) => ways), { provider: 'paynet' }];

/**
 * Money and receipt, while provider and register lose, break and repeat their answers and gateways, relays and registers are killed. `lost`
 * counts money without a receipt and receipts without money, `doubled` second charges and second documents, `parked` what has
 * not come to its end.
 */
export const paymentPatterns: readonly FaultCase[] = [
  ...PATTERNS.map(([number, name, ways]): FaultCase => ({
    ...{ number, name: `${name}: ${BROKEN}`, stage: 'payments' },
    full: { receipts: 2_000, strikes: 30 },
    tenth: { receipts: 200, strikes: 6 },
    quick: { receipts: 200, strikes: 2 },
    maxSeconds: 1_800,
    run: (run) => breakPayments(run, ways),
  })),
  {
    ...{
      number: '16f',
      name: `payments over all eight providers, by token, page and terminal: ${BROKEN}`,
      stage: 'payments',
    },
    full: { receipts: 10_000, strikes: 120 },
    tenth: { receipts: 1_000, strikes: 12 },
    quick: { receipts: 100, strikes: 2 },
    maxSeconds: 5_400,
    run: (run) => breakPayments(run, EVERY_PROVIDER),
  },
];

async function breakPayments(run: CaseRun, ways: readonly Way[]): ReturnType<FaultCase['run']> {
  const { stage, size, prefix } = run;
  const { system, payments: rig } = stage;
  if (!rig) throw new Error('the stage has no payment providers');
  await rig.faults([
    ...[...PROVIDER_FAULTS, ...CALL_FAULTS].map((fault) => ({ fault, rate: RATE })),
    { fault: 'delay', rate: RATE, delay_ms: 900 },
  ]);
  await setFaults(
    system,
    REGISTER_FAULTS.map((fault) => ({ fault, rate: RATE })),
  );
  const load = new PaymentLoad(rig, { ways, prefix, total: size.receipts });
  const kills = await killAlong(run, load);
  const sold = await load.end();
  await rig.faults([]);
  await setFaults(system, []);
  return { ...(await judgePayments(rig, sold, { prefix, complaints: load.complaints })), kills };
}

/** Gateways, relays and registers in turn, which of them by chance, at moments drawn over the course of the load. */
async function killAlong({ stage: { system }, size, chance }: CaseRun, load: PaymentLoad): Promise<number> {
  const { gateways, relays, register } = system;
  const kinds = [gateways, relays, [register]];
  const starting = new Map<unknown, Promise<void>>();
  for (let nth = 0; nth < size.strikes; nth += 1) {
    await load.reaches(Math.floor(((nth + chance.next()) / size.strikes) * size.receipts * 0.95));
    const program = chance.pick(kinds[nth % kinds.length] ?? gateways);
    await starting.get(program);
    await program.end('SIGKILL');
    // Not awaited: meanwhile the others go on, or none does.
    starting.set(program, program.start());
  }
  await Promise.all(starting.values());
  return size.strikes;
}
