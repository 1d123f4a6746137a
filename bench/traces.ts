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

/**
 * What traces cost accepting: processor time of a gateway per receipt, with traces to a gateway without, in turn. Both stand on one
 * database; what takes the spans throws them away.
 */
export async function benchTraces({ rounds, seconds }: { rounds: number; seconds: number }): Promise<Figure[]> {
  const system = await startSystem({ registers: 10, relays: 0 });
  const { server, url } = await sink();
  const started: Program[] = [];
  try {
    const token = await system.client.fetchToken();
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}`, prefer: 'respond-async' };
    const bodies = system.merchant.tills.map((_, till) =>
      JSON.stringify(threeItemSale(system.client.saleOf(till), system.merchant.goods)),
    );
    const measured = (program: Program, base: string) => async (): Promise<number> => {
      const before = secondsOf(program.pid);
      const { requests } = await fire({ url: `${base}/v1/receipts`, bodies, headers, seconds });
      return (1e6 * (secondsOf(program.pid) - before)) / requests;
    };
    const [off] = system.gateways;
    if (!off) throw new Error('no gateway');
    const without = measured(off, system.gatewayUrls[0] ?? '');
    const figures: Figure[] = [];
    for (const share of SHARES) {
      const traced = await gatewayWithTraces(system, url, share);
      started.push(traced.program);
      const withIt = measured(traced.program, traced.base);
      // What has just started compiles itself.
      for (const warm of [without, withIt, without, withIt]) await warm();
      const { a, b } = await alternate(rounds, without, withIt);
      const ratios = b.map((one, round) => one / (a[round] ?? Number.NaN));
      const name = share === null ? 'no traces, a second gateway' : `traces of ${String(share * 100)} %`;
      figures.push(
        { name: `${name}: gateway without`, value: median(a), unit: 'µs a receipt' },
        { name: `${name}: gateway with them`, value: median(b), unit: 'µs a receipt' },
        {
          ...{ name: `${name}: with to without`, value: median(ratios), unit: '×' },
          spread: [percentile(ratios, 25), percentile(ratios, 75)],
          ...(share === ALLOWED && { target: '≤ 1.03' }),
        },
      );
      await traced.program.end();
    }
    return figures;
  } finally {
    await Promise.all(started.map((program) => program.end()));
    await system.stop();
    server.close();
  }
}

async function gatewayWithTraces(
  system: TestSystem,
  url: string,
  share: number | null,
): Promise<{ program: Program; base: string }> {
  const port = await freePorts(1);
  const base = `http://127.0.0.1:${port}`;
  const env = {
    ...{ ...system.programEnv, GATEWAY_PORT: String(port) },
    ...(share !== null && { TRACES_URL: url, TRACES_SAMPLE: String(share) }),
  };
  const program = new Program(`gateway-traced-${String(share)}`, 'gateway/src/main.js', env, `${base}/readyz`);
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
