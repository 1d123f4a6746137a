import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { forwardBare } from './bare-forwarder.js';
import { openShift } from './latency.js';
import { localSale } from './local-sale.js';
import { memoryOf } from './memory.js';
import { processesOf } from './processor-time.js';
import type { Figure } from './report.js';
import { median } from './statistics.js';

/** (c) A backlog over 1, 10 and 100 registers, worked off by one relay, against a bare forwarder with nothing stored. */
export async function benchDispatch({ rounds, receipts }: { rounds: number; receipts: number }): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const registers of [1, 10, 100]) figures.push(...(await benchRegisters(registers, { rounds, receipts })));
  return figures;
}

export async function benchRegisters(
  registers: number,
  { rounds, receipts }: { rounds: number; receipts: number },
): Promise<Figure[]> {
  const system = await startSystem({ registers });
  const perRegister = Math.max(Math.round(receipts / registers), 4);
  try {
    const targets = system.merchant.tills.map(({ registerUrl }) => ({
      url: registerUrl,
      apiKey: system.registerApiKey,
    }));
    await Promise.all(targets.map(({ url, apiKey }) => openShift(url, apiKey)));
    await dispatch(system, perRegister);
    const relayed: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      relayed.push(await dispatch(system, perRegister));
      bare.push(await forwardBare(targets, perRegister, localSale()));
    }
    const ratios = relayed.map((rate, round) => rate / (bare[round] ?? Number.NaN));
    const memory = memoryOf([...system.gateways, ...system.relays, system.register, system.ofd]);
    return [
      { name: `dispatch over ${registers}: ratio to bare forwarder`, value: median(ratios), unit: '×' },
      { name: `dispatch over ${registers}: relay`, value: median(relayed), unit: 'receipts/s' },
      { name: `dispatch over ${registers}: bare`, value: median(bare), unit: 'receipts/s' },
      ...(registers === 100 ? memory : []),
    ];
  } finally {
    await system.stop();
  }
}

async function dispatch(system: TestSystem, perRegister: number): Promise<number> {
  const { client, merchant } = system;
  return workOff(system, async () => {
    for (let index = 0; index < perRegister; index += 1) {
      await Promise.all(
        merchant.tills.map((_, till) => client.post('/v1/receipts', client.saleOf(till), { prefer: 'respond-async' })),
      );
    }
    return merchant.tills.length * perRegister;
  });
}

/**
 * Pauses the relay, accepts a backlog, resumes it and counts until all is registered. Receipts per second. Paused, not
 * restarted: the bare forwarder is warm in its second round too.
 * @param accept returns how many receipts it has accepted
 */
export async function workOff({ relays, database }: TestSystem, accept: () => Promise<number>): Promise<number> {
  const relay = processesOf(relays[0]);
  for (const pid of relay) process.kill(pid, 'SIGSTOP');
  const count = await accept();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    for (const pid of relay) process.kill(pid, 'SIGCONT');
    await registeredAll(client);
    return await rateOfLastBacklog(client, count);
  } finally {
    await client.end();
  }
}

async function registeredAll(client: pg.Client): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    const { rows } = await client.query<{ left: number }>(
      "SELECT count(*)::int AS left FROM receipts WHERE status IN ('accepted', 'sending')",
    );
    if (rows[0]?.left === 0) return;
    await delay(50);
  }
  throw new Error('the backlog was not worked off in two minutes');
}

/** From the first intent to the last result: the relay's own start is not part of it. */
async function rateOfLastBacklog(client: pg.Client, count: number): Promise<number> {
  const { rows } = await client.query<{ seconds: number }>(
    `SELECT extract(epoch FROM max(closed_at) - min(created_at))::float8 AS seconds
       FROM (SELECT created_at, closed_at FROM attempts WHERE state = 'registered' ORDER BY created_at DESC LIMIT $1) last`,
    [count],
  );
  return count / (rows[0]?.seconds ?? Number.NaN);
}
