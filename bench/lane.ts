import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startRedis } from '../test/system/redis.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { benchRegisters } from './dispatch.js';
import { residentMebibytes } from './memory.js';
import type { Figure } from './report.js';
import { growth, median, percentile } from './statistics.js';

/** The lane on its own: throughput, time from commit to send on both queues, and what many rows and devices cost. */
export async function benchLane(load: {
  rounds: number;
  receipts: number;
  rows: number;
  devices: number;
  minutes: number;
}): Promise<Figure[]> {
  return [
    ...targeted(await benchRegisters(1, load), '≥ 150 receipts/s'),
    ...targeted(await benchRegisters(100, load), '≥ 0.5 of bare (target 0.8)'),
    ...(await benchCommitToSend(load)),
    ...(await benchCommitToSendOnRedis(load)),
    ...(await benchMemory(load)),
  ];
}

function targeted(figures: Figure[], target: string): Figure[] {
  return figures
    .filter(({ name }) => name.startsWith('dispatch'))
    .map((figure) => ({ ...figure, name: figure.name.replace('dispatch', 'lane'), target }));
}

/** One sale at a time; then again beside a million receipts. */
async function benchCommitToSend({ receipts, rows }: { receipts: number; rows: number }): Promise<Figure[]> {
  const system = await startSystem({ registers: 1 });
  const client = new pg.Client({ connectionString: system.database.ownerUrl });
  await client.connect();
  try {
    await timesOf(system, client, Math.ceil(receipts / 4));
    const before = await timesOf(system, client, receipts);
    await client.query(MANY_RECEIPTS, [rows]);
    // The rows stand there as after a month, not as after a minute: what cleaning up after them costs is not the lane's.
    await client.query('VACUUM (FREEZE, ANALYZE) receipts');
    await timesOf(system, client, Math.ceil(receipts / 4));
    const beside = await timesOf(system, client, receipts);
    return [
      { name: 'lane: commit → send p50, PostgreSQL queue', value: median(before), unit: 'ms', target: '≤ 10' },
      {
        name: `lane: p99 beside ${rows} receipts to without`,
        value: percentile(beside, 99) / percentile(before, 99),
        unit: '×',
        target: '≤ 1.10',
      },
    ];
  } finally {
    await client.end();
    await system.stop();
  }
}

const ACTIVE = 100;
const SAMPLE_EVERY_MS = 1_000;

/** Ten thousand lanes of which a hundred sell, for minutes: what the relay holds, and whether it grows. */
async function benchMemory({ devices, minutes }: { devices: number; minutes: number }): Promise<Figure[]> {
  const system = await startSystem({ registers: ACTIVE });
  const database = new pg.Client({ connectionString: system.database.ownerUrl });
  await database.connect();
  try {
    await database.query(MANY_DEVICES, [devices - ACTIVE]);
    await database.query(MANY_LANES);
    const samples = await sellFor(system, minutes * 60_000);
    const name = `lane: relay with ${devices} devices, ${ACTIVE} of them selling for ${minutes} min`;
    return [
      { name: `${name}, most`, value: Math.max(...samples), unit: 'MiB', target: '≤ 300' },
      { name: `${name}, last fifth to second`, value: growth(samples), unit: '×', target: 'flat' },
    ];
  } finally {
    await database.end();
    await system.stop();
  }
}

/** A sale every few milliseconds, till after till. Returns the relay's memory, MiB, once a second. */
async function sellFor({ client, relays }: TestSystem, durationMs: number): Promise<number[]> {
  const pid = relays[0]?.pid ?? 0;
  const endMs = performance.now() + durationMs;
  const samples: number[] = [];
  let sampledMs = performance.now();
  for (let till = 0; performance.now() < endMs; till = (till + 1) % ACTIVE) {
    const { status } = await client.post('/v1/receipts', client.saleOf(till), { prefer: 'respond-async' });
    if (status !== 202) throw new Error(`gateway answered ${status}`);
    await delay(10);
    if (performance.now() - sampledMs < SAMPLE_EVERY_MS) continue;
    sampledMs = performance.now();
    samples.push(residentMebibytes(pid) ?? Number.NaN);
  }
  return samples;
}

async function benchCommitToSendOnRedis({ receipts }: { receipts: number }): Promise<Figure[]> {
  const redis = await startRedis();
  const system = await startSystem({ registers: 1, queueUrl: redis.url });
  const client = new pg.Client({ connectionString: system.database.ownerUrl });
  await client.connect();
  try {
    await timesOf(system, client, Math.ceil(receipts / 4));
    const times = await timesOf(system, client, receipts);
    return [{ name: 'lane: commit → send p50, Redis queue', value: median(times), unit: 'ms', target: '≤ 10' }];
  } finally {
    await client.end();
    await system.stop();
    await redis.stop();
  }
}

/** Milliseconds from each receipt's row to its attempt's row, both by the database's clock. */
async function timesOf({ client }: TestSystem, database: pg.Client, count: number): Promise<number[]> {
  const ids: string[] = [];
  for (let sold = 0; sold < count; sold += 1) {
    const { status, body } = await client.post('/v1/receipts', client.saleOf(0));
    if (status !== 201) throw new Error(`gateway answered ${status}`);
    ids.push(String(body.id));
  }
  const { rows } = await database.query<{ ms: number }>(
    `SELECT extract(epoch FROM min(a.created_at) - r.created_at)::float8 * 1000 AS ms
       FROM receipts r JOIN attempts a ON a.receipt_id = r.id WHERE r.id = ANY($1) GROUP BY r.id`,
    [ids],
  );
  return rows.map(({ ms }) => ms);
}

const MANY_RECEIPTS = `
  INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, body_hash, type, status, lane_place, device_id,
                        branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq,
                        registered_at, evidence, ofd_status)
  SELECT 'rcp_bench' || n, r.merchant_id, r.client_id, r.operation, 'bench-' || n, r.body_hash, r.type, 'registered', n,
         r.device_id, r.branch_id, r.cashier_id, r.document, r.total_tiyin, r.vat_total_tiyin, 'ZB000000000000', n, now(),
         'answer', 'sent'
    FROM generate_series(1, $1::int) n, (SELECT * FROM receipts LIMIT 1) r`;

const MANY_DEVICES = `
  INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, state)
  SELECT 'dev_bench' || n, d.merchant_id, d.branch_id, 'bench ' || n, d.base_url, d.api_key_sealed, 'disabled'
    FROM generate_series(1, $1::int) n, (SELECT * FROM devices LIMIT 1) d`;

const MANY_LANES = "INSERT INTO lanes (device_id) SELECT id FROM devices WHERE id LIKE 'dev_bench%'";
