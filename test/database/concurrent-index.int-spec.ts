// Promise: an index is built while the table is in use, and whatever dies while it is built, the next run completes it.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import { withSchemaEngine } from '../../scripts/lib/schema-engine.mjs';
import { until } from '../../libs/runtime/src/testing/until.js';

const TABLE = '1_table';
const INDEX = '2_index';
const FILES: Readonly<Record<string, string>> = {
  [TABLE]: 'CREATE TABLE a AS SELECT n % 50000 AS n FROM generate_series(1, 50000) n;',
  [INDEX]: '-- CreateIndex\nCREATE UNIQUE INDEX CONCURRENTLY "a_n" ON "a"("n");\n',
};
const SCHEMA = 'datasource db {\n  provider = "postgresql"\n}\n';
const adminUrl = process.env['TEST_DATABASE_ADMIN_URL'] ?? '';
let name = '';
let migrateDatabaseUrl = '';
let folder = '';

beforeEach(async () => {
  name = `concurrent_${randomBytes(5).toString('hex')}`;
  await ask(adminUrl, `CREATE DATABASE ${name} OWNER fiscal_owner`);
  migrateDatabaseUrl = urlFor('fiscal_owner');
  folder = mkdtempSync(join(tmpdir(), 'fiscal-migrations-'));
  write(FILES);
});

afterEach(async () => {
  rmSync(folder, { recursive: true });
  await ask(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
});

function urlFor(role: string): string {
  const url = new URL(adminUrl);
  [url.username, url.pathname] = [role, `/${name}`];
  return url.href;
}

function write(files: Readonly<Record<string, string>>): void {
  for (const [migration, text] of Object.entries(files)) {
    mkdirSync(join(folder, migration), { recursive: true });
    writeFileSync(join(folder, migration, 'migration.sql'), text);
  }
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

function apply(only?: string): Promise<{ applied: string[] }> {
  const migrations = readMigrations(folder).filter((each) => only === undefined || each.name === only);
  return migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations });
}

async function indexes(): Promise<unknown> {
  const rows = await ask(
    migrateDatabaseUrl,
    `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid = 'a'::regclass`,
  );
  return rows;
}

/** A transaction that has seen the table: an index that is built concurrently waits for its end. */
async function longTransaction(): Promise<{ end: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: migrateDatabaseUrl });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM a');
  return { end: () => client.end() };
}

/** A process of its own that migrates, for being killed. */
function startProcess(): { kill: () => Promise<void>; exit: Promise<number | null> } {
  const script = `
    import { migrate, readMigrations } from ${JSON.stringify(join(process.cwd(), 'scripts/lib/migrations.mjs'))};
    await migrate({ migrateDatabaseUrl: process.env.URL, databaseUrl: undefined, migrations: readMigrations(process.env.FOLDER) });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, NODE_OPTIONS: '', URL: migrateDatabaseUrl, FOLDER: folder },
    stdio: 'ignore',
  });
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exit;
  };
  return { kill, exit };
}

function builds(): Promise<Record<string, unknown>[]> {
  return ask(
    adminUrl,
    `SELECT pid, phase, lockers_total FROM pg_stat_progress_create_index WHERE datname = '${name}' AND phase LIKE 'waiting for %'`,
  );
}

async function startBuildThatWaits(): Promise<{ end: () => Promise<void>; kill: () => Promise<void> }> {
  await apply(TABLE);
  const reader = await longTransaction();
  const { kill } = startProcess();
  await until('the build waits for the reader', builds, (rows) => rows.length === 1);
  return { end: reader.end, kill };
}

test('killed with its connection while the index is built: the next run drops what is left and builds it', async () => {
  const build = await startBuildThatWaits();
  await build.kill();
  const [{ pid } = {}] = await builds();
  await ask(adminUrl, `SELECT pg_terminate_backend(${String(pid)})`);
  await until('its server process has ended', builds, (rows) => rows.length === 0);
  await build.end();
  expect(await indexes()).toEqual([{ name: 'a_n', valid: false }]);
  expect(await apply()).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual([{ name: 'a_n', valid: true }]);
  expect(await apply()).toEqual({ applied: [] });
});

test('killed while its server process goes on: the next run waits for it and takes the index as it is', async () => {
  const build = await startBuildThatWaits();
  await build.kill();
  const next = apply();
  await build.end();
  expect(await next).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual([{ name: 'a_n', valid: true }]);
});

test('two at the same time do not wait for each other', async () => {
  const results = await Promise.all([apply(), apply(), apply()]);
  expect(results.flatMap(({ applied }) => applied).sort()).toEqual([TABLE, INDEX]);
});

test('readers and writers go on while it is built, and a lock timeout of its role does not end it', async () => {
  await ask(adminUrl, `ALTER ROLE fiscal_owner IN DATABASE ${name} SET lock_timeout = '50ms'`);
  await apply(TABLE);
  const reader = await longTransaction();
  const building = apply();
  await until('the build waits for the reader', builds, (rows) => rows.length === 1);
  expect(await ask(migrateDatabaseUrl, 'INSERT INTO a VALUES (-1), (-2) RETURNING n')).toHaveLength(2);
  await reader.end();
  expect(await building).toEqual({ applied: [INDEX] });
});

test('rows that a unique index cannot hold: nothing is left that would refuse others', async () => {
  await apply(TABLE);
  await ask(migrateDatabaseUrl, 'INSERT INTO a VALUES (1)');
  await expect(apply()).rejects.toThrow(`The migration ${INDEX} failed`);
  expect(await indexes()).toEqual([]);
  await ask(migrateDatabaseUrl, 'INSERT INTO a VALUES (2); DELETE FROM a; INSERT INTO a VALUES (1)');
  expect(await apply()).toEqual({ applied: [INDEX] });
});

test('an index is dropped the same way, also when it is not there any more', async () => {
  await apply();
  write({ '3_drop': 'DROP INDEX CONCURRENTLY "a_n";' });
  const reader = await longTransaction();
  const dropping = apply();
  await until('the index is no longer valid', indexes, (found) => JSON.stringify(found).includes('false'));
  await reader.end();
  expect(await dropping).toEqual({ applied: ['3_drop'] });
  write({ '4_again': 'DROP INDEX CONCURRENTLY "a_n";' });
  expect(await apply()).toEqual({ applied: ['4_again'] });
});

test.each([
  ['two of them', 'CREATE INDEX CONCURRENTLY "x" ON "a"("n"); CREATE INDEX CONCURRENTLY "y" ON "a"("n");'],
  ['something else beside it', 'ALTER TABLE a ADD COLUMN m int; CREATE INDEX CONCURRENTLY "x" ON "a"("m");'],
  ['no name', 'CREATE INDEX CONCURRENTLY ON "a"("n");'],
])('refused: %s', async (_what, sql) => {
  write({ '2_mixed': sql, [INDEX]: '' });
  await expect(apply()).rejects.toThrow('The migration 2_mixed says CONCURRENTLY');
});

test("Prisma's engine applies the same file", async () => {
  const migrationDirectories = readMigrations(folder).map(({ name: path, sql, checksum: _ }) => ({
    path,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
  }));
  await withSchemaEngine(migrateDatabaseUrl, SCHEMA, (engine) =>
    engine.applyMigrations({
      migrationsList: {
        ...{ baseDir: folder, shadowDbInitScript: '', migrationDirectories },
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
      },
      filters: { externalTables: [], externalEnums: [] },
    }),
  );
  expect(await indexes()).toEqual([{ name: 'a_n', valid: true }]);
  const checksum = createHash('sha256')
    .update(FILES[INDEX] ?? '')
    .digest('hex');
  expect(readMigrations(folder).at(-1)?.checksum).toBe(checksum);
  expect(await apply()).toEqual({ applied: [] });
});
