import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startRedis } from '../test/system/redis.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { openShift } from './latency.js';
import type { Figure } from './report.js';
import { walBytesBetween } from './spent.js';

const REGISTERS = 50;
const AT_ONCE = 16;

export interface WalOptions {
  receipts: number;
}

interface Counters {
  /** A place in the log. */
  at: string;
  transactionIds: number;
  transactions: number;
}

type Spent = Omit<Counters, 'at'> & { bytes: number };

/**
 * What one receipt writes into PostgreSQL's log, from its acceptance to its registration, with the queue in PostgreSQL and with it in
 * Redis. Each register gets one receipt after the other, as shops sell: nothing waits together in a lane.
 */
export async function benchWal({ receipts }: WalOptions): Promise<Figure[]> {
  const redis = await startRedis();
  try {
    const onPostgres = await measure(receipts, {});
    const onRedis = await measure(receipts, { queueUrl: redis.url });
    return [...figuresOf('queue in PostgreSQL', onPostgres), ...figuresOf('queue in Redis', onRedis)];
  } finally {
    await redis.stop();
  }
}

function figuresOf(name: string, spent: Spent): Figure[] {
  return [
    { name: `log per receipt, ${name}`, value: spent.bytes / 1_024, unit: 'KB' },
    { name: `transaction ids per receipt, ${name}`, value: spent.transactionIds, unit: '' },
    { name: `transactions per receipt, reading ones too, ${name}`, value: spent.transactions, unit: '' },
  ];
}

async function measure(receipts: number, queue: { queueUrl?: string }): Promise<Spent> {
  const system = await startSystem({ registers: REGISTERS, ...queue });
  const client = new pg.Client({ connectionString: system.database.adminUrl });
  await client.connect();
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect');
  try {
    const { tills } = system.merchant;
    await Promise.all(tills.map(({ registerUrl }) => openShift(registerUrl, system.registerApiKey)));
    await sell(system, tills.length * 2);
    await settled(client);
    const begun = await read(client);
    await sell(system, receipts);
    await settled(client);
    const ended = await read(client);
    const of = (pick: (state: Counters) => number): number => (pick(ended) - pick(begun)) / receipts;
    return {
      bytes: (await walBytesBetween(client, begun.at, ended.at)) / receipts,
      transactionIds: of(({ transactionIds }) => transactionIds),
      transactions: of(({ transactions }) => transactions),
    };
  } finally {
    await client.end();
    await system.stop();
  }
}

async function sell({ client, merchant }: TestSystem, receipts: number): Promise<void> {
  let issued = 0;
  const seller = async (): Promise<void> => {
    while (issued < receipts) {
      const till = issued % merchant.tills.length;
      issued += 1;
      const { status } = await client.post('/v1/receipts', client.saleOf(till), { prefer: 'wait=30' });
      if (status !== 201) throw new Error(`a sale was answered with ${status}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, seller));
}

/** All is registered, and what follows from it has been written. */
async function settled(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ left: number }>(
      "SELECT count(*)::int AS left FROM receipts WHERE status IN ('accepted', 'sending')",
    );
    if (rows[0]?.left === 0) break;
    await delay(50);
  }
  await delay(2_000);
}

async function read(client: pg.Client): Promise<Counters> {
  await client.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await client.query<Counters>(
    `SELECT pg_current_wal_insert_lsn()::text AS at,
            pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS "transactionIds",
            (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS transactions`,
  );
  const [counters] = rows;
  if (!counters) throw new Error('PostgreSQL does not say what it has written');
  return counters;
}
