import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { makeHalfYears } from '../libs/database/src/testing/index.js';
import { until, untilTrue } from '../libs/runtime/src/testing/until.js';
import { sql } from '../test/system/database.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { timeOf, timesOf, type Caller } from './calls.js';
import { residentMebibytes } from './memory.js';
import type { Figure } from './report.js';
import { sizeOf, TABLES_OF_A_RECEIPT } from './spent.js';
import { percentile } from './statistics.js';

export interface ScaleOptions {
  /** Receipts, growing. */
  sizes: readonly number[];
  calls: number;
}

const DEVICES = 10_000;
/** Of what is kept by default: receipts for five years, attempts for thirteen months, events for ninety days. */
const OF_ATTEMPTS = 13 / 60;
const OF_EVENTS = 3 / 60;
const FIRST_MS = Date.parse('2021-11-01T00:00:00Z');
const SPAN_MS = 5 * 365 * 86_400_000;
const ROWS_AT_ONCE = 25_000;
const SESSIONS = 2;
const WARM_UP = 50;
const SETTLED_WITHIN_MS = 60_000;
const QUIET_FOR_MS = 5_000;
const AT_REST_WITHIN_MS = 900_000;
const TARGET = '≤ 1.15';

type Measured = Map<string, { value: number; unit: string }>;

/**
 * The same calls over one installation whose tables grow: whether what a receipt costs depends on how many there are. One caller at a time,
 * of the merchant that has all of them; programs run throughout.
 */
export async function benchScale({ sizes, calls }: ScaleOptions): Promise<Figure[]> {
  const system = await startSystem({ registers: 1, scopes: ['receipts:write', 'receipts:read', 'webhooks:admin'] });
  try {
    const largest = sizes.at(-1) ?? 0;
    await sellForYears(system);
    const first = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'wait=30' });
    if (first.status !== 201) throw new Error(`the first sale was answered with ${first.status}`);
    const template = first.body.id ?? '';
    const results: Measured[] = [];
    const figures: Figure[] = [];
    let filled = 0;
    for (const size of sizes) {
      const seconds = await fillWithoutIndexes(system, { template, from: filled + 1, to: size, largest });
      figures.push({
        name: `rows a second from ${millions(filled)} to ${millions(size)}`,
        value: (size - filled) / seconds,
        unit: '',
      });
      filled = size;
      await untilAtRest();
      results.push(await measure(system, { rows: size, largest, calls }));
      // It goes on for long: what is known does not wait for the end.
      const known = [...(results.at(-1) ?? [])].map(
        ([name, { value, unit }]) => `    ${name}: ${value.toFixed(2)} ${unit}\n`,
      );
      process.stderr.write(
        `  ${new Date().toISOString()} ${millions(size)} receipts, filled in ${seconds.toFixed(0)} s\n${known.join('')}`,
      );
    }
    return [...figures, ...compared(sizes, results)];
  } finally {
    await system.stop();
  }
}

/** Half-years as an installation has them that has sold since the first receipt. */
export async function sellForYears({ database }: TestSystem): Promise<void> {
  const [first, now] = [new Date(FIRST_MS), new Date()];
  const halves = 2 * (now.getUTCFullYear() + 1 - first.getUTCFullYear());
  const starts = Array.from({ length: halves }, (_, half) => new Date(Date.UTC(first.getUTCFullYear(), 6 * half)));
  await makeHalfYears(database.ownerUrl, starts);
}

function compared(sizes: readonly number[], results: readonly Measured[]): Figure[] {
  const [smallest, largest] = [results[0], results.at(-1)];
  if (!smallest || !largest) return [];
  return [...smallest.keys()].flatMap((name) => {
    const ofEach = results.map((result, index) => ({
      name: `${name}, ${millions(sizes[index] ?? 0)} receipts`,
      value: result.get(name)?.value ?? Number.NaN,
      unit: result.get(name)?.unit ?? '',
    }));
    const ratio = (largest.get(name)?.value ?? Number.NaN) / (smallest.get(name)?.value ?? Number.NaN);
    return [...ofEach, { name: `${name}, largest to smallest`, value: ratio, unit: '×', target: TARGET }];
  });
}

const millions = (rows: number): string => `${rows / 1_000_000} million`;

interface Size {
  rows: number;
  largest: number;
  calls: number;
}

async function measure(system: TestSystem, { rows, largest, calls }: Size): Promise<Measured> {
  const measured: Measured = new Map();
  const { client } = system;
  // Filling takes longer than a token lives.
  client.forgetToken();
  const caller: Caller = { url: system.gatewayUrls[0] ?? '', authorization: await client.authorization() };
  const headers = { 'content-type': 'application/json', prefer: 'wait=30' };
  const sale = JSON.stringify(client.saleOf(0));
  let keys = 0;
  const key = (): string => `scale-${rows}-${(keys += 1)}`;
  const of = async (name: string, run: () => Promise<number>): Promise<void> => {
    await timesOf(WARM_UP, run);
    const taken = await timesOf(calls, run);
    for (const percent of [50, 95])
      measured.set(`${name}, p${percent}`, { value: percentile(taken, percent), unit: 'ms' });
  };
  const some = (count: number): number => Math.floor(Math.random() * count);
  const page = (query: () => string) => () => timeOf(caller, `/v1/receipts?limit=100&${query()}`);
  const at = (row: number): string => new Date(timeOfRow(row, largest)).toISOString();

  await of('POST to 201', () =>
    timeOf(caller, '/v1/receipts', { method: 'POST', body: sale, headers: { ...headers, 'idempotency-key': key() } }),
  );
  await of('replay', () =>
    timeOf(caller, '/v1/receipts', {
      method: 'POST',
      body: sale,
      headers: { ...headers, 'idempotency-key': 'replay' },
    }),
  );
  await of('GET of a receipt of the last days', () =>
    timeOf(caller, `/v1/receipts/${idOfRow(rows - some(10_000), largest)}`),
  );
  await of('GET of any receipt', () => timeOf(caller, `/v1/receipts/${idOfRow(1 + some(rows), largest)}`));
  await of(
    'page of 100',
    page(() => ''),
  );
  await of(
    'page of a register',
    page(() => `device_id=scale-dev-${some(DEVICES)}`),
  );
  await of(
    'page by external id',
    page(() => `external_id=scale-${1 + some(rows)}`),
  );
  await of(
    'page of rejected receipts',
    page(() => 'status=rejected'),
  );
  await of(
    'page of a span',
    page(() => {
      const from = some(rows - 2_000);
      return `created_from=${at(from)}&created_to=${at(from + 2_000)}`;
    }),
  );
  await of('events, a page', () => timeOf(caller, '/v1/events?limit=100'));
  const { stage, bytes } = await atRest(system);
  measured.set('bytes at rest of a receipt', { value: bytes / rows, unit: 'bytes' });
  if (!stage) throw new Error('receipts were still under way');
  for (const program of [...system.gateways, ...system.relays])
    measured.set(`memory of ${program.name}`, {
      value: residentMebibytes(program.pid ?? 0) ?? Number.NaN,
      unit: 'MiB',
    });
  return measured;
}

async function atRest(system: TestSystem): Promise<{ stage: boolean; bytes: number }> {
  const deadline = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const [row] = await sql<{ open: string; bytes: string }>(
      system.database,
      `SELECT (SELECT count(*) FROM receipts WHERE status IN ('accepted', 'sending')) AS open,
              ${TABLES_OF_A_RECEIPT.map(sizeOf).join(' + ')} AS bytes`,
    );
    const stage = Number(row?.open) === 0;
    if (stage || performance.now() > deadline) return { stage, bytes: Number(row?.bytes) };
    await delay(100);
  }
}

function timeOfRow(row: number, largest: number): number {
  return FIRST_MS + Math.floor((row * SPAN_MS) / largest);
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

/** The id's first ten characters are the time in Crockford's base 32, as the statement below makes it. */
function idOfRow(row: number, largest: number): string {
  let ms = timeOfRow(row, largest);
  let text = '';
  for (let place = 0; place < 10; place += 1) {
    text = `${DIGITS[ms % 32]}${text}`;
    ms = Math.floor(ms / 32);
  }
  return `rcp_${text}${String(row).padStart(16, '0')}`;
}

export interface Filling {
  template: string;
  from: number;
  to: number;
  largest: number;
}

/**
 * Many millions: without the indexes of receipts that stand behind no constraint, which are made anew at the end, and with the programs
 * at a stop, as each of their questions would read the whole table meanwhile. Indexes that are made so are as dense as they can be, at
 * every size alike.
 * @returns seconds
 */
async function fillWithoutIndexes(system: TestSystem, filling: Filling): Promise<number> {
  const begun = performance.now();
  const programs = [...system.gateways, ...system.relays];
  for (const program of programs) program.signal('SIGSTOP');
  try {
    const indexes = await sql<{ name: string; text: string }>(
      system.database,
      `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS text FROM pg_index
        WHERE indrelid = 'receipts'::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`,
    );
    for (const { name } of indexes) await sql(system.database, `DROP INDEX ${name}`);
    await fillReceipts(system, filling);
    // Of a table in partitions PostgreSQL says the index of the table alone, without those of its partitions.
    const left = indexes.map(({ text }) => text.replace(' ON ONLY ', ' ON '));
    await inSessions(system, async (client) => {
      await client.query("SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 0");
      for (let text = left.pop(); text !== undefined; text = left.pop()) await client.query(text);
    });
    await sql(system.database, 'CHECKPOINT');
  } finally {
    for (const program of programs) program.signal('SIGCONT');
  }
  for (const url of [...system.gatewayUrls, ...system.relayUrls])
    await untilTrue(
      async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok ?? false,
      `${url} is ready again`,
      SETTLED_WITHIN_MS,
    );
  return (performance.now() - begun) / 1_000;
}

async function inSessions(system: TestSystem, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const session = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: system.database.adminUrl });
    await client.connect();
    await work(client);
    await client.end();
  };
  await Promise.all(Array.from({ length: SESSIONS }, session));
}

/** Copies of a registered receipt, as five years would leave them. */
export async function fillReceipts(system: TestSystem, { template, from, to, largest }: Filling): Promise<void> {
  await sql(system.database, PLACES, [template, DEVICES]);
  let next = from;
  await inSessions(system, async (client) => {
    // The rows are legal; checking each of them again would be most of the time.
    await client.query('SET session_replication_role = replica; SET synchronous_commit = off');
    while (next <= to) {
      const first = next;
      next += ROWS_AT_ONCE;
      const last = Math.min(first + ROWS_AT_ONCE - 1, to);
      await client.query(FILL, [template, first, last, FIRST_MS, SPAN_MS, largest, DEVICES]);
      const youngest = (share: number): number => Math.max(first, Math.ceil(largest * (1 - share)));
      if (youngest(OF_ATTEMPTS) <= last)
        await client.query(FILL_ATTEMPTS, [template, youngest(OF_ATTEMPTS), last, FIRST_MS, SPAN_MS, largest, DEVICES]);
      if (youngest(OF_EVENTS) <= last)
        await client.query(FILL_EVENTS, [template, youngest(OF_EVENTS), last, FIRST_MS, SPAN_MS, largest]);
    }
  });
  await sql(system.database, 'VACUUM (ANALYZE) receipts, idempotency_claims, external_id_claims, registration_claims');
  await sql(system.database, 'VACUUM (ANALYZE) attempts');
  await sql(system.database, 'VACUUM (ANALYZE) events');
  await sql(system.database, 'CHECKPOINT');
}

/**
 * What follows a fill (autovacuum, pages that the system still writes to the disk) takes a core for minutes, and would be counted as the price of
 * a larger table.
 */
async function untilAtRest(): Promise<void> {
  execFileSync('sync');
  const busyShare = async (): Promise<number> => {
    const read = (): { busy: number; all: number } => {
      const times = cpus().map(({ times: each }) => each);
      const all = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
      return { busy: all - times.reduce((sum, { idle }) => sum + idle, 0), all };
    };
    const before = read();
    await delay(QUIET_FOR_MS);
    const after = read();
    return (after.busy - before.busy) / (after.all - before.all);
  };
  await until('the machine is at rest', busyShare, (share) => share < 0.1, AT_REST_WITHIN_MS);
}

const ROWS = `generate_series($2::int, $3::int) AS n,
  LATERAL (SELECT $4::bigint + floor(n * $5::bigint / $6::bigint)::bigint AS ms) AS t,
  LATERAL (SELECT to_timestamp(t.ms / 1000.0) AS at,
                  (SELECT string_agg(substr('${DIGITS}', ((t.ms >> (5 * place)) & 31)::int + 1, 1), '' ORDER BY place DESC)
                     FROM generate_series(0, 9) AS place) || lpad(n::text, 16, '0') AS id) AS made`;

/** Registers of the past, which are not polled: a page is of the merchant's own. */
const PLACES = `
  INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, deleted_at)
  SELECT 'scale-dev-' || n, r.merchant_id, r.branch_id, 'scale-dev-' || n, 'http://127.0.0.1:1', '', now()
    FROM receipts r, generate_series(0, $2::int - 1) AS n WHERE r.id = $1
  ON CONFLICT DO NOTHING`;

const FILL = `
  WITH filled AS (
  INSERT INTO receipts (id, merchant_id, client_id, operation, external_id, idempotency_key, body_hash, type, status, lane_place, device_id,
                        branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at, fiscal_sign,
                        verification_url, evidence, ofd_status, ofd_sent_at, created_at, updated_at)
  SELECT 'rcp_' || made.id, r.merchant_id, r.client_id, r.operation, 'scale-' || n, 'scale-key-' || n, r.body_hash, r.type,
         CASE WHEN n % 100 = 1 THEN 'rejected' ELSE 'registered' END::receipt_status, n, 'scale-dev-' || n % $7::int,
         'scale-brn-' || n % ($7::int / 10), 'scale-csh-' || n % ($7::int * 2), r.document, (n * 7919::bigint) % 1000003, r.vat_total_tiyin,
         fiscal.terminal, fiscal.seq, fiscal.at, fiscal.sign, fiscal.url, fiscal.evidence, fiscal.ofd, fiscal.at, made.at, made.at
    FROM receipts r, ${ROWS},
         LATERAL (SELECT n % 100 <> 1 AS ok) AS fate,
         LATERAL (SELECT CASE WHEN fate.ok THEN 'SC' || n % $7::int END AS terminal, CASE WHEN fate.ok THEN n END AS seq,
                         CASE WHEN fate.ok THEN made.at END AS at, CASE WHEN fate.ok THEN r.fiscal_sign END AS sign,
                         CASE WHEN fate.ok THEN r.verification_url END AS url, CASE WHEN fate.ok THEN r.evidence END AS evidence,
                         CASE WHEN fate.ok THEN 'sent' END::ofd_status AS ofd) AS fiscal
   WHERE r.id = $1
  RETURNING id, merchant_id, client_id, operation, idempotency_key, external_id, terminal_id, receipt_seq
  ), keys AS (
    INSERT INTO idempotency_claims (client_id, operation, idempotency_key, receipt_id)
    SELECT client_id, operation, idempotency_key, id FROM filled
  ), external_ids AS (
    INSERT INTO external_id_claims (merchant_id, external_id, receipt_id) SELECT merchant_id, external_id, id FROM filled
  )
  INSERT INTO registration_claims (terminal_id, receipt_seq, merchant_id, receipt_id)
  SELECT terminal_id, receipt_seq, merchant_id, id FROM filled WHERE receipt_seq IS NOT NULL`;

const FILL_ATTEMPTS = `
  INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at, closed_at, http_status, outcome)
  SELECT 'att_' || made.id, 'rcp_' || made.id, 'scale-dev-' || n % $7::int, 1,
         CASE WHEN n % 100 = 1 THEN 'rejected' ELSE 'registered' END::attempt_state, a.baseline, a.request, a.relay_id, made.at, made.at, 200,
         a.outcome
    FROM attempts a, ${ROWS}
   WHERE a.receipt_id = $1 AND a.state = 'registered'`;

const FILL_EVENTS = `
  INSERT INTO events (id, merchant_id, type, subject_id, data, created_at)
  SELECT 'evt_' || e.nth || made.id, e.merchant_id, e.type, 'rcp_' || made.id, e.data, made.at
    FROM (SELECT *, row_number() OVER (ORDER BY position) AS nth FROM events WHERE subject_id = $1) AS e, ${ROWS}`;
