import pg from 'pg';
import { sql } from '../test/system/database.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { timeOf, timesOf, type Caller } from './calls.js';
import { residentMebibytes } from './memory.js';
import { benchRefunds } from './refunds.js';
import type { Figure } from './report.js';
import { growth, median, percentile } from './statistics.js';

/** Spread of the receipts: what is searched is neither everywhere nor nowhere. */
const DEVICES = 1_000;
const FIRST_MS = Date.parse('2026-01-01T00:00:00Z');
const STEP_MS = 10_000;
const ROWS_AT_ONCE = 50_000;
/** Requests that are not counted, of each kind: a program that has just been started is not the one that serves. */
const WARM_UP = 200;
const WARM_UP_PAGES = 20;

/**
 * What reading costs: a replay and one receipt, a page of 100 by each filter over many receipts, and all of them as a file;
 * and what a refund costs beside a sale.
 * One caller at a time: the figure is the way of one request, not the size of the machine.
 */
export async function benchReceipts({ rows, requests }: { rows: number; requests: number }): Promise<Figure[]> {
  const system = await startSystem({
    registers: 1,
    relays: 0,
    scopes: ['receipts:write', 'receipts:read', 'refunds:write'],
  });
  try {
    await fill(system, rows);
    const authorization = await system.client.authorization();
    const caller: Caller = { url: system.gatewayUrls[0] ?? '', authorization };
    return [
      ...(await benchOne(system, caller, requests)),
      ...(await benchRefunds(system, caller, requests)),
      ...(await benchPages(caller, rows, requests)),
      ...(await benchExport(system, caller, rows)),
    ];
  } finally {
    await system.stop();
  }
}

async function benchOne(system: TestSystem, caller: Caller, requests: number): Promise<Figure[]> {
  const { body } = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'respond-async' });
  const sale = JSON.stringify(system.client.saleOf(0));
  const headers = { 'content-type': 'application/json', prefer: 'respond-async', 'idempotency-key': 'bench' };
  const replay = { method: 'POST', body: sale, headers };
  await timesOf(WARM_UP, () => timeOf(caller, '/v1/receipts', replay));
  const replays = await timesOf(requests, () => timeOf(caller, '/v1/receipts', replay));
  const path = `/v1/receipts/${body.id ?? ''}`;
  await timesOf(WARM_UP, () => timeOf(caller, path));
  const reads = await timesOf(requests, () => timeOf(caller, path));
  return [
    { name: 'receipts: replay p50', value: median(replays), unit: 'ms' },
    { name: 'receipts: replay p99', value: percentile(replays, 99), unit: 'ms', target: '≤ 5' },
    { name: 'receipts: GET p50', value: median(reads), unit: 'ms' },
    { name: 'receipts: GET p99', value: percentile(reads, 99), unit: 'ms', target: '≤ 5' },
  ];
}

async function benchPages(caller: Caller, rows: number, requests: number): Promise<Figure[]> {
  const some = (count: number): number => Math.floor(Math.random() * count);
  const at = (row: number): string => new Date(FIRST_MS + row * STEP_MS).toISOString();
  const day = Math.min(8_640, Math.floor(rows / 4));
  const filters: Record<string, () => string> = {
    'no filter': () => '',
    external_id: () => `external_id=order-${some(rows)}`,
    'status=registered': () => 'status=registered',
    'status=rejected': () => 'status=rejected',
    'type=refund': () => 'type=refund',
    device_id: () => `device_id=bench-dev-${some(DEVICES)}`,
    branch_id: () => `branch_id=bench-brn-${some(DEVICES / 10)}`,
    cashier_id: () => `cashier_id=bench-csh-${some(DEVICES * 2)}`,
    'total (narrow)': () => range('total', some(900_000), 200),
    'total (wide)': () => range('total', some(400_000), 400_000),
    created: () => {
      const from = some(rows - day);
      return `created_from=${at(from)}&created_to=${at(from + day)}`;
    },
    registered: () => {
      const from = some(rows - day);
      return `registered_from=${at(from)}&registered_to=${at(from + day)}`;
    },
  };
  const figures: Figure[] = [];
  for (const [name, query] of Object.entries(filters)) {
    await timesOf(WARM_UP_PAGES, () => timeOf(caller, `/v1/receipts?limit=100&${query()}`));
    const taken = await timesOf(requests, () => timeOf(caller, `/v1/receipts?limit=100&${query()}`));
    figures.push({ name: `receipts: page of 100, ${name}, p50`, value: median(taken), unit: 'ms' });
    figures.push({
      name: `receipts: page of 100, ${name}, p99`,
      value: percentile(taken, 99),
      unit: 'ms',
      target: '≤ 30',
    });
  }
  return figures;
}

function range(name: string, from: number, width: number): string {
  return `${name}_min=${from}&${name}_max=${from + width}`;
}

async function benchExport(system: TestSystem, caller: Caller, rows: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const format of ['ndjson', 'csv', 'xlsx']) {
    let bytes = 0;
    const memory = (): number => residentMebibytes(system.gateways[0]?.pid ?? 0) ?? Number.NaN;
    const samples = [memory()];
    const sampling = setInterval(() => samples.push(memory()), 50);
    const begun = performance.now();
    const path = `${caller.url}/v1/receipts/export?format=${format}`;
    const response = await fetch(path, { headers: { authorization: caller.authorization } });
    for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
    const seconds = (performance.now() - begun) / 1_000;
    clearInterval(sampling);
    figures.push(
      { name: `receipts: export of ${rows} as ${format}`, value: seconds, unit: 's', target: '≤ 60 for 1 000 000' },
      { name: `receipts: export as ${format}, size`, value: bytes / 2 ** 20, unit: 'MiB' },
      { name: `receipts: export as ${format}, gateway's memory before`, value: samples[0] ?? Number.NaN, unit: 'MiB' },
      { name: `receipts: … most meanwhile`, value: Math.max(...samples), unit: 'MiB', target: '≤ 200' },
      { name: `receipts: … last fifth to second`, value: growth(samples), unit: '×', target: 'flat' },
    );
  }
  return figures;
}

/** Copies of one accepted receipt, as a year would leave them: settled, spread over time, places and sums. */
export async function fill(system: Pick<TestSystem, 'client' | 'database'>, rows: number): Promise<void> {
  const { body } = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'respond-async' });
  const client = new pg.Client({ connectionString: system.database.ownerUrl });
  await client.connect();
  for (let first = 1; first <= rows; first += ROWS_AT_ONCE) {
    await client.query(FILL, [body.id, first, Math.min(first + ROWS_AT_ONCE - 1, rows), FIRST_MS, STEP_MS, DEVICES]);
  }
  await client.query('VACUUM ANALYZE receipts');
  await client.end();
  // Else a checkpoint of the million rows goes on beside the first figures.
  await sql(system.database, 'CHECKPOINT');
}

/** The id's first ten characters are the time in Crockford's base 32. */
const FILL = `
  INSERT INTO receipts (id, merchant_id, client_id, operation, external_id, body_hash, type, status, lane_place, device_id,
                        branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq,
                        registered_at, created_at)
  SELECT 'rcp_' || made.time || lpad(n::text, 16, '0'), r.merchant_id, r.client_id, r.operation, 'order-' || n, r.body_hash,
         CASE WHEN n % 50 = 0 THEN 'refund' ELSE 'sale' END::receipt_type, made.status::receipt_status, n,
         'bench-dev-' || n % $6::int, 'bench-brn-' || n % ($6::int / 10), 'bench-csh-' || n % ($6::int * 2), r.document,
         (n * 7919::bigint) % 1000003, r.vat_total_tiyin, CASE WHEN made.status = 'registered' THEN 'UZ000000000099' END,
         CASE WHEN made.status = 'registered' THEN n END, CASE WHEN made.status = 'registered' THEN made.at END, made.at
    FROM receipts r, generate_series($2::int, $3::int) AS n,
         LATERAL (SELECT $4::bigint + n * $5::bigint AS ms) AS t,
         LATERAL (SELECT to_timestamp(t.ms / 1000.0) AS at, CASE WHEN n % 100 = 1 THEN 'rejected' ELSE 'registered' END AS status,
                         (SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', ((t.ms >> (5 * place)) & 31)::int + 1, 1),
                                            '' ORDER BY place DESC) FROM generate_series(0, 9) AS place) AS time) AS made
   WHERE r.id = $1`;
