import { startSystem, type TestSystem } from '../test/system/system.js';
import { localSale } from './local-sale.js';
import type { Figure } from './report.js';
import { alternate, median, percentile, timed } from './statistics.js';

/** (b) One sale at a time: POST /v1/receipts to 201, against a POST straight to the register. */
export async function benchLatency({ rounds, sales }: { rounds: number; sales: number }): Promise<Figure[]> {
  const system = await startSystem({ registers: 2 });
  try {
    const throughGateway = () => timed(sales, () => sell(system));
    const direct = () => timed(sales, () => sellDirectly(system));
    await throughGateway();
    await direct();
    const { a, b } = await alternate(rounds, throughGateway, direct);
    const of = (runs: number[][], percent: number): number => median(runs.map((run) => percentile(run, percent)));
    return [
      { name: 'latency: p50 added to a direct POST', value: of(a, 50) - of(b, 50), unit: 'ms', target: '≤ 10' },
      { name: 'latency: p99 added to a direct POST', value: of(a, 99) - of(b, 99), unit: 'ms' },
      { name: 'latency: gateway p50', value: of(a, 50), unit: 'ms' },
      { name: 'latency: gateway p99', value: of(a, 99), unit: 'ms' },
      { name: 'latency: register p50', value: of(b, 50), unit: 'ms' },
      { name: 'latency: register p99', value: of(b, 99), unit: 'ms' },
    ];
  } finally {
    await system.stop();
  }
}

async function sell({ client }: TestSystem): Promise<void> {
  const { status } = await client.post('/v1/receipts', client.saleOf(0));
  if (status !== 201) throw new Error(`gateway answered ${status}`);
}

/** To the second register, so that neither path waits for the other's documents. */
async function sellDirectly({ merchant, registerApiKey }: TestSystem): Promise<void> {
  const response = await fetch(`${merchant.tills[1]?.registerUrl}/receipts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': registerApiKey },
    body: localSale(),
  });
  const text = await response.text();
  if (response.status === 409 && text.includes('F-002'))
    return openShift(merchant.tills[1]?.registerUrl ?? '', registerApiKey);
  if (response.status !== 200) throw new Error(`register answered ${response.status}: ${text}`);
}

export async function openShift(registerUrl: string, apiKey: string): Promise<void> {
  const response = await fetch(`${registerUrl}/z-report/open`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: '{}',
  });
  await response.text();
}
