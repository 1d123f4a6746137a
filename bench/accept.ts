import autocannon from 'autocannon';
import { join } from 'node:path';
import pg from 'pg';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { Program } from '../test/system/program.js';
import { startSystem } from '../test/system/system.js';
import { processorTimeOf, secondsOf } from './processor-time.js';
import { alternate, median } from './statistics.js';
import type { Figure } from './report.js';

const CONNECTIONS = 32;

/**
 * (a) POST /v1/receipts with `respond-async`, the whole way of accepting (token, catalogue, rules, durable commit, event,
 * bell), against a bare Fastify with one INSERT of the same body. No relay runs: dispatching has figure (c).
 */
export async function benchAccept({ rounds, seconds }: { rounds: number; seconds: number }): Promise<Figure[]> {
  const system = await startSystem({ registers: 10, relays: 0 });
  const port = await freePorts(1);
  const bare = new Program(
    'bare',
    join('..', 'bench', 'bare-insert.js'),
    { DATABASE_URL: system.database.url, PORT: String(port) },
    `http://127.0.0.1:${port}/ready`,
  );
  try {
    await prepareTable(system.database.ownerUrl);
    await bare.start();
    const token = await system.client.fetchToken();
    const bodies = system.merchant.tills.map((_, till) =>
      JSON.stringify(threeItemSale(system.client.saleOf(till), system.merchant.goods)),
    );
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}`, prefer: 'respond-async' };
    const run = async (url: string): Promise<Spending> => {
      const before = secondsOf(bare.pid);
      const { result, spent } = await processorTimeOf(system, () => fire({ url, bodies, headers, seconds }));
      const ofServer = spent.gateway + secondsOf(bare.pid) - before;
      return {
        ...result,
        serverMs: (1_000 * ofServer) / result.requests,
        databaseMs: (1_000 * spent.PostgreSQL) / result.requests,
      };
    };
    const gatewayUrl = `${system.gatewayUrls[0]}/v1/receipts`;
    const bareUrl = `http://127.0.0.1:${port}/receipts`;
    await run(gatewayUrl);
    await run(bareUrl);
    const { a, b } = await alternate(
      rounds,
      () => run(gatewayUrl),
      () => run(bareUrl),
    );
    const of = (results: Spending[], name: keyof Spending): number => median(results.map((result) => result[name]));
    const ratios = a.map((result, round) => result.perSecond / (b[round]?.perSecond ?? Number.NaN));
    return [
      {
        name: 'accept: ratio to bare Fastify + INSERT',
        value: median(ratios),
        unit: '×',
        target: '≥ 0.6 (target 1.0)',
      },
      { name: 'accept: gateway', value: of(a, 'perSecond'), unit: 'receipts/s' },
      { name: 'accept: bare', value: of(b, 'perSecond'), unit: 'receipts/s' },
      { name: 'accept: gateway p99', value: of(a, 'p99'), unit: 'ms' },
      {
        name: 'accept: processor time of the gateway per receipt',
        value: of(a, 'serverMs'),
        unit: 'ms',
        target: '≤ 0.30',
      },
      { name: 'the same of bare', value: of(b, 'serverMs'), unit: 'ms' },
      {
        name: 'accept: processor time of PostgreSQL per receipt',
        value: of(a, 'databaseMs'),
        unit: 'ms',
        target: '≤ 0.20',
      },
      { name: 'the same of bare', value: of(b, 'databaseMs'), unit: 'ms' },
    ];
  } finally {
    await bare.end();
    await system.stop();
  }
}

/** A round's figures, and what one receipt took of its server and of PostgreSQL. */
interface Spending extends Fired {
  serverMs: number;
  databaseMs: number;
}

export interface Fired {
  perSecond: number;
  p99: number;
  requests: number;
}

export async function fire(load: {
  url: string;
  bodies: string[];
  headers: Record<string, string>;
  seconds: number;
}): Promise<Fired> {
  const { url, bodies, headers, seconds } = load;
  let turn = 0;
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        headers,
        setupRequest: (request) => {
          turn += 1;
          return { ...request, body: bodies[turn % bodies.length] ?? '' };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`);
  return { perSecond: result.requests.average, p99: result.latency.p99, requests: result.requests.total };
}

export function threeItemSale(sale: Record<string, unknown>, goods: readonly string[]): Record<string, unknown> {
  const items = goods.slice(0, 3).map((name, index) => ({ name, price: 112_000 + index * 1_000, qty: index + 1 }));
  return { ...sale, items };
}

export async function prepareTable(ownerUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query('CREATE TABLE bench_receipts (id text PRIMARY KEY, body jsonb NOT NULL)');
  await client.query('GRANT INSERT ON bench_receipts TO fiscal_app');
  await client.end();
}
