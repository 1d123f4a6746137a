import { availableParallelism } from 'node:os';
import type { Program } from '../test/system/program.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { fire, threeItemSale } from './accept.js';
import { workOff } from './dispatch.js';
import { openShift } from './latency.js';
import { processesOf, secondsOf } from './processor-time.js';
import type { Figure } from './report.js';
import { median, percentile } from './statistics.js';

const REGISTERS = 40;

interface Round {
  accepted: number;
  dispatched: number;
  /** Processor seconds of the gateway and its workers for each second of accepting: how many cores it was given. */
  cores: number;
}

/**
 * One gateway and one relay with as many processes as there are cores, from one on, in turn: what is accepted and what is sent to
 * registers in a second. Load, database and registers stand on the same cores.
 */
export async function benchWorkers(options: { rounds: number; seconds: number }): Promise<Figure[]> {
  const systems: TestSystem[] = [];
  const counts = Array.from({ length: availableParallelism() }, (_, index) => index + 1);
  try {
    for (const workers of counts) systems.push(await startWith(workers));
    for (const system of systems) await measure(system, options.seconds);
    const rounds: Round[][] = systems.map(() => []);
    for (let round = 0; round < options.rounds; round += 1)
      for (const index of round % 2 === 0 ? counts.keys() : [...counts.keys()].reverse()) {
        const system = systems[index];
        if (system) rounds[index]?.push(await measure(system, options.seconds));
      }
    return counts.flatMap((workers, index) => figuresOf(workers, rounds[index] ?? [], rounds[0] ?? []));
  } finally {
    for (const system of systems) await system.stop();
  }
}

async function startWith(workers: number): Promise<TestSystem> {
  const env = { GATEWAY_WORKERS: String(workers), RELAY_WORKERS: String(workers) };
  const system = await startSystem({ registers: REGISTERS, env });
  await Promise.all(system.registerUrls.map((url) => openShift(url, system.registerApiKey)));
  return system;
}

/** Accepting while the relay stands still, then what was accepted is sent. */
async function measure(system: TestSystem, seconds: number): Promise<Round> {
  const { client, merchant, gateways, gatewayUrls } = system;
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${await client.fetchToken()}`,
    prefer: 'respond-async',
  };
  const bodies = merchant.tills.map((_, till) => JSON.stringify(threeItemSale(client.saleOf(till), merchant.goods)));
  let [accepted, cores] = [0, 0];
  const dispatched = await workOff(system, async () => {
    const before = secondsOfAll(gateways[0]);
    const { perSecond, requests } = await fire({
      url: `${gatewayUrls[0] ?? ''}/v1/receipts`,
      bodies,
      headers,
      seconds,
    });
    [accepted, cores] = [perSecond, (secondsOfAll(gateways[0]) - before) / seconds];
    return requests;
  });
  return { accepted, cores, dispatched };
}

function secondsOfAll(program: Program | undefined): number {
  return processesOf(program).reduce((sum, pid) => sum + secondsOf(pid), 0);
}

function figuresOf(workers: number, rounds: readonly Round[], ofOne: readonly Round[]): Figure[] {
  const of = (name: string, read: (round: Round) => number, unit: string): Figure[] => {
    const values = rounds.map(read);
    const ratios = rounds.map((round, index) => read(round) / (ofOne[index] ? read(ofOne[index]) : Number.NaN));
    const title = `${String(workers)} ${workers === 1 ? 'process' : 'processes'}: ${name}`;
    const spread: [number, number] = [percentile(ratios, 25), percentile(ratios, 75)];
    return [
      { name: title, value: median(values), unit },
      ...(workers === 1 ? [] : [{ name: `${title}, to one`, value: median(ratios), unit: '×', spread }]),
    ];
  };
  return [
    ...of('accepted', ({ accepted }) => accepted, 'receipts/s'),
    ...of('registered', ({ dispatched }) => dispatched, 'receipts/s'),
    ...of('cores that the gateway was given', ({ cores }) => cores, ''),
  ];
}
