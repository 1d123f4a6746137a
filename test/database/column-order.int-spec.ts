// Promise: a change of a receipt or an attempt does not write its document or request into the log again; a filled table keeps its columns as they are.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createEmptyDatabase, type TestDatabase } from '#database/testing';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';

const MIGRATION = '20261126150000_what_moves_together';
const databases: TestDatabase[] = [];
const clients: pg.Client[] = [];

afterAll(async () => {
  for (const client of clients) await client.end();
  for (const database of databases) await database.drop();
});

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  clients.push(client);
  return client;
}

/** A database as it was before this migration. */
async function beforeIt(): Promise<{ owner: pg.Client; database: TestDatabase }> {
  const database = await createEmptyDatabase();
  databases.push(database);
  const migrations = readMigrations().filter(({ name }) => name < MIGRATION);
  await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations });
  const owner = await connect(database.ownerUrl);
  // With the rights of then: prisma/grants.sql names functions that are not there yet.
  await owner.query(`
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO fiscal_app, fiscal_app_tenant;
    GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO fiscal_app, fiscal_app_tenant`);
  return { owner, database };
}

function migrateOn({ ownerUrl, url }: TestDatabase): Promise<unknown> {
  return migrate({ migrateDatabaseUrl: ownerUrl, databaseUrl: url });
}

/** Static and long: what stands behind every column that moves, and nothing behind them that does. */
const LAST: Readonly<Record<string, readonly string[]>> = {
  receipts: ['document'],
  attempts: ['baseline', 'request'],
};

async function columnsOf(
  owner: pg.Client,
  table: string,
): Promise<{ name: string; type: string; required: boolean }[]> {
  const { rows } = await owner.query<{ name: string; type: string; required: boolean }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS required FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  );
  return rows;
}

const DOCUMENT = JSON.stringify({
  items: Array.from({ length: 12 }, (_, at) => `line ${at} ${randomBytes(20).toString('hex')}`),
});

async function accept(owner: pg.Client): Promise<void> {
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm', 'M', '300000000');
    INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_1', 'mer_1', 'b', 'B');
    INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, state, registered_at)
    VALUES ('dev_1', 'mer_1', 'brn_1', 'Till', 'http://127.0.0.1:9', '\\x00', 'online', now());`);
  await owner.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                           total_tiyin, vat_total_tiyin)
     VALUES ('rcp_1', 'mer_1', 'cli_1', 'receipts', '\\x00', 'sale', 'accepted', 1, 'dev_1', $1, 100, 0)`,
    [DOCUMENT],
  );
}

const beginSending = (owner: pg.Client): Promise<unknown> =>
  owner.query(`UPDATE receipts SET status = 'sending', updated_at = now() WHERE id = 'rcp_1'`);

/** Bytes that the statement wrote into the log of receipts, without whole pages. */
async function loggedBy({ adminUrl }: TestDatabase, statement: () => Promise<unknown>): Promise<number> {
  const admin = await connect(adminUrl);
  await admin.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect');
  const place = async (): Promise<string> =>
    (await admin.query<{ at: string }>('SELECT pg_current_wal_insert_lsn()::text AS at')).rows[0]?.at ?? '';
  // A page is logged as a whole when it is changed for the first time after a checkpoint, and the row in it is not.
  await admin.query('UPDATE receipts SET updated_at = now()');
  const from = await place();
  await statement();
  const to = await place();
  await admin.query('SELECT pg_switch_wal()');
  const { rows } = await admin.query<{ bytes: number }>(
    `SELECT sum(record_length - block_fpi_length)::int AS bytes FROM pg_get_wal_block_info($1, $2, false)
      WHERE relfilenode IN (SELECT pg_relation_filenode('receipts') UNION SELECT pg_relation_filenode(relid) FROM pg_partition_tree('receipts')) AND record_type LIKE '%UPDATE%'
        AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [from, to],
  );
  return rows[0]?.bytes ?? -1;
}

test('a new installation: nothing that moves stands behind what is long and never moves', async () => {
  const { owner, database } = await beforeIt();
  const was = await Promise.all(Object.keys(LAST).map((table) => columnsOf(owner, table)));
  await migrateOn(database);
  for (const [at, [table, last]] of Object.entries(LAST).entries()) {
    const columns = await columnsOf(owner, table);
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    // Later migrations may add some.
    expect([...columns].sort(byName)).toEqual(expect.arrayContaining([...(was[at] ?? [])].sort(byName)));
    const { rows: moving } = await owner.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.column_privileges
        WHERE grantee = 'fiscal_app' AND table_schema = 'public' AND table_name = $1 AND privilege_type = 'UPDATE'`,
      [table],
    );
    const placeOf = (column: string): number => columns.findIndex((each) => each.name === column);
    const lastMoving = Math.max(...moving.map((column) => placeOf(column.name)));
    expect(moving.length).toBeGreaterThan(2);
    expect(last.filter((column) => placeOf(column) < lastMoving)).toEqual([]);
  }
  await accept(owner);
  const bytes = await loggedBy(database, () => beginSending(owner));
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(DOCUMENT.length / 2);
});

test('a filled one keeps its columns, its rows, and its table open', async () => {
  const { owner, database } = await beforeIt();
  await accept(owner);
  const before = await columnsOf(owner, 'receipts');
  const { rows: kept } = await owner.query('SELECT * FROM receipts');
  const reader = await connect(database.ownerUrl);
  await reader.query('BEGIN; SELECT FROM receipts');
  // This one alone: an index that goes CONCURRENTLY waits for every reader.
  const migrations = readMigrations().filter(({ name }) => name <= MIGRATION);
  await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations });
  await reader.query('COMMIT');
  expect((await columnsOf(owner, 'receipts')).slice(0, before.length)).toEqual(before);
  expect((await owner.query('SELECT * FROM receipts')).rows).toMatchObject(kept);
  // What the other kind of installation is spared.
  expect(await loggedBy(database, () => beginSending(owner))).toBeGreaterThan(DOCUMENT.length / 2);
});

test('programs that are connected go on', async () => {
  const { owner, database } = await beforeIt();
  const program = await connect(database.url);
  const read = (): Promise<pg.QueryResult> =>
    program.query({ name: 'read', text: 'SELECT id, document, status FROM receipts WHERE id = $1', values: ['rcp_1'] });
  expect((await read()).rows).toEqual([]);
  await migrateOn(database);
  await accept(owner);
  expect((await read()).rows).toMatchObject([{ id: 'rcp_1', document: JSON.parse(DOCUMENT), status: 'accepted' }]);
});
