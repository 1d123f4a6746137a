import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../libs/database/src/testing/index.js';
import type { Figure } from './report.js';

export interface VacuumOptions {
  receipts: number;
}

const DEVICES = 1_000;
const ENDPOINTS = 200;
/** Receipts of one turn: as many statements as one receipt has, each for so many lanes. */
const GROUP = 25;
const WORKERS = 2;
const TABLES = [
  ...['receipts', 'attempts', 'attempt_claims', 'events', 'lanes', 'devices'],
  ...['webhook_deliveries', 'webhook_attempts', 'webhook_cursors', 'webhook_endpoints'],
];

/**
 * The statements of many receipts and their webhooks, without programs, once with the tables' own settings of autovacuum and once with
 * those of the server: how far the small tables grow that change with each receipt, how much of the large ones is dead or frozen.
 */
export async function benchVacuum({ receipts }: VacuumOptions): Promise<Figure[]> {
  const ours = await run(receipts, true);
  const defaults = await run(receipts, false);
  const figures = Object.entries(ours).flatMap(([name, value]) => [
    { name: `${name}, with the tables' settings`, value, unit: unitOf(name) },
    { name: `${name}, with the server's`, value: defaults[name] ?? Number.NaN, unit: unitOf(name) },
  ]);
  return figures;
}

function unitOf(name: string): string {
  return name.includes('share') ? '%' : name.includes('times') ? '' : 'KB';
}

async function run(receipts: number, isOurs: boolean): Promise<Record<string, number>> {
  const database = await createTestDatabase();
  const admin = await connect(database.adminUrl);
  try {
    await admin.query(`ALTER SYSTEM SET autovacuum_naptime = '1s'`);
    await admin.query('SELECT pg_reload_conf()');
    if (!isOurs)
      for (const table of TABLES) {
        const { rows } = await admin.query<{ name: string; names: string }>(
          `SELECT c.oid::regclass AS name, string_agg(split_part(o, '=', 1), ', ') AS names FROM pg_class c, unnest(c.reloptions) AS o
            WHERE c.oid = $1::regclass OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::regclass) GROUP BY c.oid`,
          [table],
        );
        for (const { name, names } of rows) await admin.query(`ALTER TABLE ${name} RESET (${names})`);
      }
    await seed(admin);
    let issued = 0;
    const worker = async (number: number): Promise<void> => {
      const client = await connect(database.adminUrl);
      while (issued < receipts) {
        issued += GROUP;
        await turn(client, issued, number);
      }
      await client.end();
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, number) => worker(number)));
    // What is due now is still vacuumed.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    return await outcome(admin);
  } finally {
    await admin.query('ALTER SYSTEM RESET autovacuum_naptime');
    await admin.query('SELECT pg_reload_conf()');
    await admin.end();
    await drop(database);
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

function drop(database: TestDatabase): Promise<void> {
  return database.drop();
}

async function seed(admin: pg.Client): Promise<void> {
  await admin.query(
    `INSERT INTO merchants (id, code, name, tin) SELECT 'mer_' || n, 'm' || n, 'M', '300000000' FROM generate_series(0, ${ENDPOINTS - 1}) n`,
  );
  await admin.query(`INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_1', 'mer_0', 'main', 'Main')`);
  await admin.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, reading)
     SELECT 'dev_' || n, 'mer_0', 'brn_1', 'Till', 'http://127.0.0.1:1', '', jsonb_build_object('x', repeat('y', 300))
       FROM generate_series(0, ${DEVICES - 1}) n`,
  );
  await admin.query(`INSERT INTO lanes (device_id, baseline) SELECT id, reading FROM devices`);
  await admin.query(`INSERT INTO webhook_cursors (merchant_id, position) SELECT id, 0 FROM merchants`);
  await admin.query(
    `INSERT INTO webhook_endpoints (id, merchant_id, url, events) SELECT 'whk_' || id, id, 'https://example.uz/', '{*}' FROM merchants`,
  );
  await admin.query('VACUUM ANALYZE');
}

/** One statement of each kind, for a group of receipts in lanes of their own. */
async function turn(client: pg.Client, from: number, worker: number): Promise<void> {
  const numbers = Array.from({ length: GROUP }, (_, index) => from + index);
  const half = DEVICES / WORKERS;
  const rows = `unnest($1::int[]) AS g(n)`;
  const device = `'dev_' || (g.n % ${half} + ${worker * half})`;
  const id = `'rcp_' || lpad(g.n::text, 10, '0')`;
  await client.query(
    `WITH made AS (
       INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, body_hash, type, status, lane_place, device_id, branch_id,
                             cashier_id, document, total_tiyin, vat_total_tiyin)
       SELECT ${id}, 'mer_' || g.n % ${ENDPOINTS}, 'cli_1', 'receipts', g.n::text, sha256(g.n::text::bytea), 'sale', 'accepted',
              nextval('lane_place_seq'), ${device}, 'brn_1', 'csh_1', jsonb_build_object('lines', repeat('l', 700)), g.n, 0
         FROM ${rows} RETURNING id, merchant_id)
     INSERT INTO events (id, merchant_id, type, subject_id, data) SELECT 'evt_a' || id, merchant_id, 'receipt.accepted', id, '{}' FROM made`,
    [numbers],
  );
  await client.query(
    `WITH moved AS (UPDATE receipts r SET status = 'sending', updated_at = now() FROM ${rows} WHERE r.id = ${id} RETURNING r.id, r.device_id)
     INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
     SELECT 'att_' || id, id, device_id, 1, 'open', '{}', decode(repeat('ab', 500), 'hex'), 'rly_1' FROM moved`,
    [numbers],
  );
  await client.query(
    `WITH closed AS (
       UPDATE attempts a SET state = 'registered', closed_at = now(), outcome = jsonb_build_object('r', repeat('o', 250))
         FROM ${rows} WHERE a.receipt_id = ${id} AND a.id = 'att_' || ${id} RETURNING a.receipt_id, a.device_id
     ), moved AS (
       UPDATE receipts r SET status = 'registered', updated_at = now(), terminal_id = closed.device_id, receipt_seq = r.total_tiyin,
                             registered_at = now(), fiscal_sign = 'sign', verification_url = repeat('u', 80), evidence = 'answer', ofd_status = 'sent'
         FROM closed WHERE r.id = closed.receipt_id RETURNING r.id, r.merchant_id
     ), lane AS (UPDATE lanes l SET updated_at = now() FROM closed WHERE l.device_id = closed.device_id)
     INSERT INTO events (id, merchant_id, type, subject_id, data) SELECT 'evt_r' || id, merchant_id, 'receipt.registered', id, '{}' FROM moved`,
    [numbers],
  );
  await client.query(
    `WITH made AS (
       INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
       SELECT 'dlv_' || g.n, 'mer_' || g.n % ${ENDPOINTS}, 'whk_mer_' || g.n % ${ENDPOINTS}, g.n, 'evt_r' || ${id}, 'receipt.registered', ${id},
              'https://example.uz/' FROM ${rows} RETURNING merchant_id
     ), cursors AS (UPDATE webhook_cursors c SET position = c.position + 1 FROM made WHERE c.merchant_id = made.merchant_id)
     UPDATE webhook_endpoints e SET due_at = now(), wakes = wakes + 1 FROM made WHERE e.merchant_id = made.merchant_id`,
    [numbers],
  );
  await client.query(
    `WITH tried AS (
       INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome) SELECT 'dlv_' || g.n, 1, 100, 'delivered' FROM ${rows}
       RETURNING delivery_id
     ), done AS (
       UPDATE webhook_deliveries d SET state = 'delivered', attempt_count = 1, finished_at = now() FROM tried
        WHERE d.id = tried.delivery_id RETURNING d.endpoint_id)
     UPDATE webhook_endpoints e SET due_at = NULL FROM done WHERE e.id = done.endpoint_id`,
    [numbers],
  );
}

/** As `of_table`: a partition counts for its table. */
function tableOf(oid: string): string {
  return `LATERAL (SELECT coalesce((SELECT inhparent FROM pg_inherits WHERE inhrelid = ${oid}), ${oid})::regclass::text AS of_table) t`;
}

async function outcome(admin: pg.Client): Promise<Record<string, number>> {
  const { rows } = await admin.query<{ name: string; value: number }>(
    `SELECT 'size of ' || relname AS name, pg_total_relation_size(relid) / 1024.0 AS value FROM pg_stat_user_tables
      WHERE relname IN ('lanes', 'attempt_claims', 'webhook_cursors', 'webhook_endpoints')
     UNION ALL SELECT 'size of ' || i.name, sum(pg_relation_size(relid)) / 1024.0
       FROM unnest(ARRAY['receipts_waiting_in_lane', 'receipts_under_way']) AS i(name), pg_partition_tree(i.name::regclass) GROUP BY i.name
     UNION ALL SELECT 'dead rows of ' || of_table || ', share', 100.0 * sum(n_dead_tup) / greatest(sum(n_live_tup + n_dead_tup), 1)
       FROM pg_stat_user_tables s, ${tableOf('s.relid')} WHERE of_table IN ('receipts', 'attempts', 'webhook_deliveries') GROUP BY of_table
     UNION ALL SELECT 'frozen pages of ' || of_table || ', share', 100.0 * sum(greatest(relallfrozen, 0)) / greatest(sum(relpages), 1)
       FROM pg_class c, ${tableOf('c.oid')}
      WHERE of_table IN ('receipts', 'attempts', 'events', 'webhook_attempts') AND relkind = 'r' GROUP BY of_table
     UNION ALL SELECT 'vacuums of receipts and attempts, times', sum(autovacuum_count) FROM pg_stat_user_tables s, ${tableOf('s.relid')}
      WHERE of_table IN ('receipts', 'attempts') ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]));
}
