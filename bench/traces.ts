import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { Program } from '../test/system/program.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { fire, threeItemSale } from './accept.js';
import { secondsOf } from './processor-time.js';
import type { Figure } from './report.js';
import { alternate, median, percentile } from './statistics.js';

/** Shares of the receipts that are traced; null: no traces either, which is what two gateways differ by anyway. */
const SHARES = [null, 0.01, 1] as const;
const ALLOWED = 0.01;
/** Of a second each: until both are compiled as well as they will be. */
const WARM_UPS = 12;

type Headers = Readonly<Record<string, string>>;

export interface TracesOptions {
  /** Of fresh gateways for each share: two that are alike differ by some percent for as long as they run. */
  pairs: number;
  /** For each pair. */
  rounds: number;
  seconds: number;
}

/**
 * What traces cost accepting: processor time of a gateway per receipt, with traces to a gateway without, in turn. Both stand on one
 * database; what takes the spans throws them away.
 */
export async function benchTraces({ pairs, rounds, seconds }: TracesOptions): Promise<Figure[]> {
  const system = await startSystem({ registers: 10, relays: 0 });
  const { server, url } = await sink();
  const started: Program[] = [];
  try {
    const bodies = system.merchant.tills.map((_, till) =>
      JSON.stringify(threeItemSale(system.client.saleOf(till), system.merchant.goods)),
    );
    const measured = (program: Program, base: string, headers: Headers) => async (): Promise<number> => {
      const before = secondsOf(program.pid);
      const { requests } = await fire({ url: `${base}/v1/receipts`, bodies, headers, seconds });
      return (1e6 * (secondsOf(program.pid) - before)) / requests;
    };
    const figures: Figure[] = [];
    for (const share of SHARES) {
      const [a, b]: [number[], number[]] = [[], []];
      const ofPairs: number[] = [];
      for (let pair = 0; pair < pairs; pair += 1) {
        // Two that start at the same time: the first of a system does work for all besides, and what has run longer is compiled better.
        const traces = share === null ? null : { url, share };
        const order = pair % 2 === 0 ? [null, traces] : [traces, null];
        const both = [await addGateway(system, order[0] ?? null), await addGateway(system, order[1] ?? null)] as const;
        started.push(...both.map(({ program }) => program));
        const [plain, traced] = pair % 2 === 0 ? both : ([both[1], both[0]] as const);
        // A token does not live as long as all pairs together.
        const authorization = `Bearer ${await system.client.fetchToken()}`;
        const headers = { 'content-type': 'application/json', authorization, prefer: 'respond-async' };
        const [without, withIt] = [
          measured(plain.program, plain.base, headers),
          measured(traced.program, traced.base, headers),
        ];
        // A gateway that has served one reading hands a store of context on ever after (docs/adr/0090-row-security.md): all of them do.
        for (const { base } of both) await fetch(`${base}/v1/receipts?limit=1`, { headers });
        for (let warm = 0; warm < WARM_UPS; warm += 1) await alternate(1, without, withIt);
        const taken = await alternate(rounds, without, withIt);
        a.push(...taken.a);
        b.push(...taken.b);
        const ratio = median(taken.b.map((one, round) => one / (taken.a[round] ?? Number.NaN)));
        ofPairs.push(ratio);
        process.stderr.write(`  traced: ${String(share ?? 0)}, pair ${String(pair + 1)}: ${ratio.toFixed(3)} ×\n`);
        await Promise.all(both.map(({ program }) => program.end()));
      }
      const name = share === null ? 'no traces, two alike' : `traces of ${String(share * 100)} %`;
      figures.push(
        { name: `${name}: gateway without`, value: median(a), unit: 'µs a receipt' },
        { name: `${name}: gateway with them`, value: median(b), unit: 'µs a receipt' },
        {
          ...{ name: `${name}: with to without`, value: median(ofPairs), unit: '×' },
          spread: [percentile(ofPairs, 25), percentile(ofPairs, 75)],
          ...(share === ALLOWED && { target: '≤ 1.03' }),
        },
      );
    }
    return figures;
  } finally {
    await Promise.all(started.map((program) => program.end()));
    await system.stop();
    server.close();
  }
}

async function addGateway(
  system: TestSystem,
  traces: { url: string; share: number } | null,
): Promise<{ program: Program; base: string }> {
  const port = await freePorts(1);
  const base = `http://127.0.0.1:${port}`;
  const env = {
    ...{ ...system.programEnv, GATEWAY_PORT: String(port) },
    ...(traces && { TRACES_URL: traces.url, TRACES_SAMPLE: String(traces.share) }),
  };
  const program = new Program(`gateway-${String(port)}`, 'gateway/src/main.js', env, `${base}/readyz`);
  await program.start();
  return { program, base };
}

/** Takes whatever is sent. */
async function sink(): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${String(port)}/v1/traces` };
}
