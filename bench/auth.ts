import autocannon from 'autocannon';
import { join } from 'node:path';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { Program } from '../test/system/program.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { prepareTable, threeItemSale } from './accept.js';
import { BenchSigner, type PresignedRequest } from './presigned.js';
import type { Figure } from './report.js';
import { alternate, median } from './statistics.js';

const CONNECTIONS = 32;
/** What signed requests name, whatever port they go to (PUBLIC_HOSTS). */
const HOST = 'gateway.bench';
/** Counted for each request, and lets all of them through. */
const NEVER_REACHED = '1000000/1';

interface Round {
  perSecond: number;
  /** Processor time of the program per request; null where it is not asked. */
  microseconds: number | null;
}

/**
 * What the locks cost: token, allow list, Ed25519 signature with its nonce, and limits in front of a route that does nothing,
 * against the same route and the same requests without them. By processor time of the program, which other programs
 * disturb least; and what is left of the rate of accepting (figure (a)) with all locks on.
 */
export async function benchAuth({ rounds, requests }: { rounds: number; requests: number }): Promise<Figure[]> {
  const system = await startSystem({
    registers: 10,
    relays: 0,
    env: { PUBLIC_HOSTS: HOST, CLIENT_LIMIT: NEVER_REACHED },
  });
  const port = await freePorts(2);
  const route = benchProgram('guarded-route', port, { ...system.programEnv, GATEWAY_PORT: String(port) }, 'readyz');
  const barePort = port + 1;
  const bareEnv = { DATABASE_URL: system.database.url, PORT: String(barePort) };
  const bare = benchProgram('bare-insert', barePort, bareEnv, 'ready');
  try {
    await prepareTable(system.database.ownerUrl);
    await Promise.all([route.start(), bare.start()]);
    const token = await system.client.fetchToken();
    const signer = await BenchSigner.register(system.database.url, system.merchant.clientId, token);
    const base = `http://127.0.0.1:${port}`;
    const locks = await locksAlone({ signer, base, rounds, requests });
    const accept = await acceptBehindLocks({
      system,
      signer,
      bareUrl: `http://127.0.0.1:${barePort}`,
      rounds,
      requests,
    });
    return [...locks, ...accept];
  } finally {
    await Promise.all([route.end(), bare.end()]);
    await system.stop();
  }
}

function benchProgram(name: string, port: number, env: Record<string, string>, ready: string): Program {
  return new Program(name, join('..', 'bench', `${name}.js`), env, `http://127.0.0.1:${port}/${ready}`);
}

interface LocksRun {
  signer: BenchSigner;
  base: string;
  rounds: number;
  requests: number;
}

async function locksAlone({ signer, base, rounds, requests }: LocksRun): Promise<Figure[]> {
  const body = JSON.stringify({ items: [{ name: 'Non', price: 450_000, qty: 2 }], payment: { method: 'cash' } });
  const run = async (path: string): Promise<Round> => {
    const presigned = Array.from({ length: requests }, () => signer.sign(HOST, path, body));
    const before = await cpuOf(base);
    const perSecond = await fire(base, presigned);
    return { perSecond, microseconds: ((await cpuOf(base)) - before) / requests };
  };
  await run('/v1/bench');
  await run('/bench');
  const { a, b } = await alternate(
    rounds,
    () => run('/v1/bench'),
    () => run('/bench'),
  );
  const timeOf = (round: Round | undefined): number => round?.microseconds ?? Number.NaN;
  const cost = median(a.map((guarded, at) => timeOf(guarded) - timeOf(b[at])));
  return [
    { name: 'auth: processor time of all locks per request', value: cost, unit: 'µs', target: '≤ 200' },
    { name: 'auth: the route behind all locks', value: median(a.map(timeOf)), unit: 'µs' },
    { name: 'auth: the route without', value: median(b.map(timeOf)), unit: 'µs' },
    { name: 'auth: rate behind all locks', value: median(a.map(({ perSecond }) => perSecond)), unit: 'requests/s' },
    { name: 'auth: rate without', value: median(b.map(({ perSecond }) => perSecond)), unit: 'requests/s' },
  ];
}

interface AcceptRun {
  system: TestSystem;
  signer: BenchSigner;
  bareUrl: string;
  rounds: number;
  requests: number;
}

async function acceptBehindLocks({ system, signer, bareUrl, rounds, requests }: AcceptRun): Promise<Figure[]> {
  const { merchant, client } = system;
  const bodies = merchant.tills.map((_, till) => JSON.stringify(threeItemSale(client.saleOf(till), merchant.goods)));
  const run = async (url: string, path: string): Promise<number> => {
    const presigned = Array.from({ length: requests }, (_, at) =>
      signer.sign(HOST, path, bodies[at % bodies.length] ?? ''),
    );
    return fire(url, presigned);
  };
  const gateway = (): Promise<number> => run(system.gatewayUrls[0] ?? '', '/v1/receipts');
  const direct = (): Promise<number> => run(bareUrl, '/receipts');
  await gateway();
  await direct();
  const { a, b } = await alternate(rounds, gateway, direct);
  const ratio = median(a.map((rate, at) => rate / (b[at] ?? Number.NaN)));
  return [
    { name: 'auth: accept with all locks, ratio to bare Fastify + INSERT', value: ratio, unit: '×', target: '≥ 0.5' },
    { name: 'auth: accept with all locks', value: median(a), unit: 'receipts/s' },
    { name: 'auth: bare', value: median(b), unit: 'receipts/s' },
  ];
}

async function cpuOf(base: string): Promise<number> {
  const response = await fetch(`${base}/bench/cpu`);
  return ((await response.json()) as { microseconds: number }).microseconds;
}

/** @returns requests per second; each of them is sent once */
async function fire(url: string, presigned: PresignedRequest[]): Promise<number> {
  const begun = performance.now();
  let next = 0;
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    amount: presigned.length,
    // It sees that all have been answered only when it takes a sample, by itself once a second: 2.1 s would count as 3.
    sampleInt: 10,
    requests: [
      {
        method: 'POST',
        setupRequest: (request) => {
          const { path, body, headers } = presigned[next % presigned.length] ?? { path: '/', body: '', headers: {} };
          next += 1;
          return { ...request, path, body, headers };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} non-2xx, ${result.errors} errors of ${presigned.length}`);
  }
  return (presigned.length * 1_000) / (performance.now() - begun);
}
