import { MerchantScopes } from '../apps/gateway/src/access/merchant-scopes.js';
import { OperatorFixture } from '../apps/gateway/src/operator/testing/operator-fixture.js';
import { writeReceipt } from '../apps/gateway/src/receipts/search/testing/receipt-rows.js';
import type { Figure } from './report.js';
import { alternate, median, percentile } from './statistics.js';

const RECEIPTS = 2_000;
const WARM_UP = 300;

/** What row-level security costs a read, as its caller has it: with and without it in turn, one request at a time. */
export async function benchRowSecurity({ rounds, requests }: { rounds: number; requests: number }): Promise<Figure[]> {
  // One client asks as fast as it is answered.
  const gateway = await OperatorFixture.start({ CLIENT_LIMIT: null });
  try {
    const token = await gateway.createToken(gateway.merchantId, ['receipts:read']);
    const ids: string[] = [];
    for (let made = 0; made < RECEIPTS; made += 1) {
      ids.push(await writeReceipt(gateway.prisma, { merchantId: gateway.merchantId }));
    }
    await gateway.prisma.$executeRaw`ANALYZE receipts`.catch(() => undefined);
    const scopes = gateway.app.get(MerchantScopes);
    const paths: Readonly<Record<string, (turn: number) => string>> = {
      'one receipt': (turn) => `/v1/receipts/${ids[turn % RECEIPTS]}`,
      'a page of 20': () => '/v1/receipts?limit=20',
      events: () => '/v1/events?limit=20',
    };
    const figures: Figure[] = [];
    for (const [name, pathOf] of Object.entries(paths)) {
      const measured = (isOn: boolean) => async (): Promise<number> => {
        scopes.isOn = isOn;
        return millisecondsOf(gateway.base, token, requests, pathOf);
      };
      await millisecondsOf(gateway.base, token, WARM_UP, pathOf);
      await measured(true)();
      const { a: without, b: withIt } = await alternate(rounds, measured(false), measured(true));
      const ratios = withIt.map((one, round) => one / (without[round] ?? Number.NaN));
      figures.push(
        { name: `row security: ${name} without`, value: median(without), unit: 'ms' },
        { name: `row security: ${name} with it`, value: median(withIt), unit: 'ms' },
        {
          name: `row security: ${name}, with to without`,
          value: median(ratios),
          spread: [percentile(ratios, 25), percentile(ratios, 75)],
          ...{ unit: '×', target: '≤ 1.05' },
        },
      );
    }
    return figures;
  } finally {
    await gateway.stop();
  }
}

/** Of one request, the middle of all. */
async function millisecondsOf(
  base: string,
  token: string,
  requests: number,
  pathOf: (turn: number) => string,
): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < requests; turn += 1) {
    const begun = performance.now();
    const response = await fetch(`${base}${pathOf(turn)}`, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${pathOf(turn)} answered ${response.status}`);
    times.push(performance.now() - begun);
  }
  return median(times);
}
