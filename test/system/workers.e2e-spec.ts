// Promise: several processes of one program behind its port: each may die, none takes a sale with it, and they stop and are counted as one.
import { readFileSync } from 'node:fs';
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { Load } from '../faults/frame/load.js';
import { judge } from '../faults/frame/truth.js';
import { Program } from './program.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const WORKERS = 2;
/** Of a call to a worker that is killed, and of a gateway that is asked again. */
const CUT_OFF = /^(ECONNREFUSED|ECONNRESET|UND_ERR_SOCKET|EPIPE|503 )/;
let system: TestSystem;

beforeAll(async () => {
  const env = { GATEWAY_WORKERS: String(WORKERS), RELAY_WORKERS: String(WORKERS) };
  system = await startSystem({ registers: 3, ownMetricsPorts: true, env });
});
afterAll(() => system?.stop());

function workersOf(program: Program | undefined): number[] {
  const text = readFileSync(`/proc/${program?.pid}/task/${program?.pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

async function metric(url: string | undefined, series: string): Promise<number> {
  const text = await (await fetch(`${url ?? ''}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${series}{`) || line.startsWith(`${series} `));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // gone
  }
}

test('a worker that is killed under load is replaced; no sale is lost or doubled', async () => {
  const load = new Load(system.client, { prefix: 'workers', chance: new Chance(3), perTill: 3, asyncShare: 0.3 });
  await load.reaches(30);
  const programs = [
    [system.gateways[0], system.gatewayMetricsUrls[0], 'http_request_duration_seconds_count'],
    [system.relays[0], system.relayMetricsUrls[0], 'receipt_register_duration_seconds_count'],
  ] as const;
  for (const [program, metricsUrl, series] of programs) {
    const before = workersOf(program);
    expect(before).toHaveLength(WORKERS);
    const [victim = 0] = before;
    const counted = await metric(metricsUrl, series);
    process.kill(victim, 'SIGKILL');
    await until(
      'its death is counted',
      () => metric(metricsUrl, 'program_worker_restarts_total'),
      (count) => count === 1,
    );
    // What it had counted stays in the sum: Prometheus takes one that falls for a program that began anew.
    expect(await metric(metricsUrl, series)).toBeGreaterThanOrEqual(counted);
    await until(
      'another worker is there',
      () => workersOf(program),
      (now) => now.length === WORKERS && !now.includes(victim),
    );
    await until(
      'it is counted',
      () => metric(metricsUrl, 'program_workers'),
      (count) => count === WORKERS,
    );
    await load.reaches(load.sold.length + 30);
  }
  const sold = await load.end();
  expect(load.complaints).toEqual([]);
  expect(sold.flatMap(({ setbacks }) => setbacks).filter((setback) => !CUT_OFF.test(setback))).toEqual([]);
  const verdict = await judge(system, [load], { prefix: 'workers', tills: system.merchant.tills });
  expect(verdict).toMatchObject({ lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [] });
});

test('a scrape counts what all workers did, wherever it is asked for', async () => {
  const series = 'http_request_duration_seconds_count';
  const before = await metric(system.gatewayMetricsUrls[0], series);
  const calls = 40;
  // A connection each: they are handed out in turn.
  for (let call = 0; call < calls; call += 1)
    await fetch(`${system.gatewayUrls[0]}/healthz`, { headers: { connection: 'close' } });
  await until(
    'all calls are counted',
    () => metric(system.gatewayMetricsUrls[0], series),
    (count) => count >= before + calls,
  );
  expect(await metric(system.relayMetricsUrls[0], 'relay_free_places')).toBeGreaterThan(200);
  expect(await metric(system.relayMetricsUrls[0], 'lane_queue_up')).toBe(1);
});

test('asked to stop, all of them end, and the program well', async () => {
  for (const program of [system.gateways[0]!, system.relays[0]!]) {
    const pids = workersOf(program);
    await program.end('SIGTERM');
    expect([program.exitCode, pids.filter(isAlive)]).toEqual([0, []]);
  }
});

test('a supervisor that is killed leaves no worker behind', async () => {
  const gateway = system.gateways[0]!;
  await gateway.start();
  const pids = workersOf(gateway);
  await gateway.end('SIGKILL');
  await until(
    'they have gone',
    () => pids.filter(isAlive),
    (left) => left.length === 0,
  );
});

test('what cannot start ends the program, with the sentence of its worker', async () => {
  const { programEnv, relayUrls } = system;
  await system.relays[0]!.start();
  const taken = new URL(relayUrls[0] ?? '').port;
  const gateway = new Program(
    'taken',
    'gateway/src/main.js',
    { ...programEnv, GATEWAY_PORT: taken },
    'http://127.0.0.1:1',
  );
  await expect(gateway.start()).rejects.toThrow('ended while starting');
  expect(gateway.exitCode).toBe(1);
  expect(gateway.said).toContain(taken);
  const wrong = new Program(
    'wrong',
    'gateway/src/main.js',
    { ...programEnv, GATEWAY_WORKERS: 'all' },
    'http://127.0.0.1:1',
  );
  await expect(wrong.start()).rejects.toThrow(
    'GATEWAY_WORKERS must be a whole number from 1 to 256, or auto, not "all"',
  );
});
