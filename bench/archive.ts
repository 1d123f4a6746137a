import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { archiveInFolder, type KeepDays, type LeavingTable } from '#ledger';
import { createLogger } from '#runtime';
import { ARCHIVE_OPTIONS, ArchiveKeeper } from '../apps/device-relay/src/archive/archive-keeper.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { timeOf, type Caller } from './calls.js';
import { fillPayments } from './old-payments.js';
import { processorTimeOf } from './processor-time.js';
import type { Figure } from './report.js';
import { fillReceipts } from './scale.js';
import { walBytesBetween } from './spent.js';
import { median, percentile } from './statistics.js';

export interface ArchiveOptions {
  /** Receipts of five years, of which those of the last thirteen months have attempts, and a third of the older ones payments. */
  rows: number;
  rounds: number;
  /** That leave in one round. */
  leaving: number;
}

/** The least that the database allows. */
const KEEP_DAYS: KeepDays = { attempts: 91, receipts: 396 };
const NEVER = 36_500;
const SALES_A_SECOND = 20;

/**
 * What it takes that rows leave for an archive one by one, as the relay has them leave: how many do in a second, what each takes of PostgreSQL and of
 * the relay, and what sales feel of it. Sales come at an even rate, in turn without a keeper and beside one.
 */
export async function benchArchive({ rows, rounds, leaving }: ArchiveOptions): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-archive-'));
  const system = await startSystem({ registers: 1, scopes: ['receipts:write', 'receipts:read'] });
  const client = new pg.Client({ connectionString: system.database.adminUrl });
  try {
    await client.connect();
    const first = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'wait=30' });
    if (first.status !== 201) throw new Error(`the first sale was answered with ${first.status}`);
    await fillReceipts(system, { template: first.body.id ?? '', from: 1, to: rows, largest: rows });
    const figures: Figure[] = [];
    for (const table of ['attempts', 'receipts'] as const)
      figures.push(...(await measure(system, client, { table, rounds, leaving, folder })));
    await fillPayments(system, KEEP_DAYS.receipts);
    figures.push(...(await measure(system, client, { table: 'payments', rounds, leaving, folder })));
    return figures;
  } finally {
    await client.end();
    await system.stop();
    await rm(folder, { recursive: true });
  }
}

interface Measuring {
  table: LeavingTable;
  rounds: number;
  leaving: number;
  folder: string;
}

async function measure(
  system: TestSystem,
  client: pg.Client,
  { table, rounds, leaving, folder }: Measuring,
): Promise<Figure[]> {
  // A payment is kept as receipts are.
  const kept = table === 'payments' ? 'receipts' : table;
  const keepDays = { attempts: NEVER, receipts: NEVER, [kept]: KEEP_DAYS[kept] };
  const options = { ...ARCHIVE_OPTIONS, keepDays, maxRows: leaving };
  const keeper = new ArchiveKeeper(
    system.database.url,
    archiveInFolder(folder),
    options,
    createLogger('bench', 'error'),
  );
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect');
  const [perSecond, postgres, own, log]: number[][] = [[], [], [], []];
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const from = await placeInLog(client);
    const begun = performance.now();
    const { result: left, spent } = await processorTimeOf(system, () => leave(client, table, keeper));
    const seconds = (performance.now() - begun) / 1_000;
    if (left < leaving) throw new Error(`only ${left} ${table} left: fill more rows`);
    perSecond?.push(left / seconds);
    postgres?.push((spent.PostgreSQL * 1_000) / left);
    own?.push((spent.client * 1_000) / left);
    log?.push((await walBytesBetween(client, from, await placeInLog(client))) / left);
    alone.push(...(await sell(system, delay(seconds * 1_000))));
    beside.push(...(await sell(system, leave(client, table, keeper))));
  }
  const of = (name: string, values: number[] | undefined, unit: string): Figure => ({
    ...{ name: `${table}: ${name}`, value: median(values ?? []), unit },
  });
  return [
    of('that leave in a second', perSecond, ''),
    of('processor time of PostgreSQL for each', postgres, 'ms'),
    of('processor time of the keeper for each', own, 'ms'),
    of('log for each', log, 'bytes'),
    ...[50, 95].flatMap((percent): Figure[] => {
      const [without, withKeeper] = [percentile(alone, percent), percentile(beside, percent)];
      return [
        { name: `${table}: POST to 201 without a keeper, p${percent}`, value: without, unit: 'ms' },
        { name: `${table}: the same while they leave, p${percent}`, value: withKeeper, unit: 'ms' },
        { name: `${table}: to each other, p${percent}`, value: withKeeper / without, unit: '×' },
      ];
    }),
  ];
}

/** One archive. @returns how many rows have left */
async function leave(client: pg.Client, table: LeavingTable, keeper: ArchiveKeeper): Promise<number> {
  const count = async (): Promise<number> =>
    Number((await client.query<{ n: string }>(`SELECT count(*) AS n FROM archived_${table}`)).rows[0]?.n);
  const before = await count();
  await keeper.run();
  return (await count()) - before;
}

/** Until the work beside it is done. @returns milliseconds of each sale */
async function sell(system: TestSystem, work: Promise<unknown>): Promise<number[]> {
  // A bench takes longer than a token lives.
  system.client.forgetToken();
  const caller: Caller = { url: system.gatewayUrls[0] ?? '', authorization: await system.client.authorization() };
  const headers = { 'content-type': 'application/json', prefer: 'wait=30' };
  const body = JSON.stringify(system.client.saleOf(0));
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  const sales: Promise<number>[] = [];
  while (!isDone) {
    sales.push(timeOf(caller, '/v1/receipts', { method: 'POST', body, headers }));
    await delay(1_000 / SALES_A_SECOND);
  }
  await done;
  return Promise.all(sales);
}

async function placeInLog(client: pg.Client): Promise<string> {
  return (await client.query<{ at: string }>('SELECT pg_current_wal_insert_lsn()::text AS at')).rows[0]?.at ?? '';
}
