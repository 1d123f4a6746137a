// Promise: an index is built while the table is in use, and whatever dies while it is built, the next run completes it.
import { createHash } from 'node:crypto';
import { readMigrations } from '../../scripts/lib/migrations.mjs';
import { withSchemaEngine } from '../../scripts/lib/schema-engine.mjs';
import { until } from '../../libs/runtime/src/testing/until.js';
import { ScratchMigrations } from './scratch-migrations.js';

const TABLE = '1_table';
const INDEX = '2_index';
const FILES: Readonly<Record<string, string>> = {
  [TABLE]: 'CREATE TABLE a AS SELECT n % 50000 AS n FROM generate_series(1, 50000) n;',
  [INDEX]: '-- CreateIndex\nCREATE UNIQUE INDEX CONCURRENTLY "a_n" ON "a"("n");\n',
};
const SCHEMA = 'datasource db {\n  provider = "postgresql"\n}\n';
let scratch: ScratchMigrations;

beforeEach(async () => {
  scratch = await ScratchMigrations.create(FILES);
});
afterEach(() => scratch.remove());

function indexes(): Promise<unknown> {
  return scratch.ask(
    `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid = 'a'::regclass`,
  );
}

async function startBuildThatWaits(): Promise<{ end: () => Promise<void>; kill: () => Promise<void> }> {
  await scratch.apply(TABLE);
  const reader = await scratch.reader('a');
  const { kill } = scratch.startProcess();
  await scratch.buildWaits();
  return { end: reader.end, kill };
}

test('killed with its connection while the index is built: the next run drops what is left and builds it', async () => {
  const build = await startBuildThatWaits();
  await build.kill();
  await scratch.endBuild();
  await build.end();
  expect(await indexes()).toEqual([{ name: 'a_n', valid: false }]);
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual([{ name: 'a_n', valid: true }]);
  expect(await scratch.apply()).toEqual({ applied: [] });
});

test('killed while its server process goes on: the next run waits for it and takes the index as it is', async () => {
  const build = await startBuildThatWaits();
  await build.kill();
  const next = scratch.apply();
  await build.end();
  expect(await next).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual([{ name: 'a_n', valid: true }]);
});

test('two at the same time do not wait for each other', async () => {
  const results = await Promise.all([scratch.apply(), scratch.apply(), scratch.apply()]);
  expect(results.flatMap(({ applied }) => applied).sort()).toEqual([TABLE, INDEX]);
});

test('readers and writers go on while it is built, and a lock timeout of its role does not end it', async () => {
  await scratch.askServer(`ALTER ROLE fiscal_owner IN DATABASE ${scratch.database} SET lock_timeout = '50ms'`);
  await scratch.apply(TABLE);
  const reader = await scratch.reader('a');
  const building = scratch.apply();
  await scratch.buildWaits();
  expect(await scratch.ask('INSERT INTO a VALUES (-1), (-2) RETURNING n')).toHaveLength(2);
  await reader.end();
  expect(await building).toEqual({ applied: [INDEX] });
});

test('rows that a unique index cannot hold: nothing is left that would refuse others', async () => {
  await scratch.apply(TABLE);
  await scratch.ask('INSERT INTO a VALUES (1)');
  await expect(scratch.apply()).rejects.toThrow(`The migration ${INDEX} failed`);
  expect(await indexes()).toEqual([]);
  await scratch.ask('INSERT INTO a VALUES (2); DELETE FROM a; INSERT INTO a VALUES (1)');
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
});

test('an index is dropped the same way, also when it is not there any more', async () => {
  await scratch.apply();
  scratch.write({ '3_drop': 'DROP INDEX CONCURRENTLY "a_n";' });
  const reader = await scratch.reader('a');
  const dropping = scratch.apply();
  await until('the index is no longer valid', indexes, (found) => JSON.stringify(found).includes('false'));
  await reader.end();
  expect(await dropping).toEqual({ applied: ['3_drop'] });
  scratch.write({ '4_again': 'DROP INDEX CONCURRENTLY "a_n";' });
  expect(await scratch.apply()).toEqual({ applied: ['4_again'] });
});

test.each([
  ['two of them', 'CREATE INDEX CONCURRENTLY "x" ON "a"("n"); CREATE INDEX CONCURRENTLY "y" ON "a"("n");'],
  ['something else beside it', 'ALTER TABLE a ADD COLUMN m int; CREATE INDEX CONCURRENTLY "x" ON "a"("m");'],
  ['no name', 'CREATE INDEX CONCURRENTLY ON "a"("n");'],
])('refused: %s', async (_what, sql) => {
  scratch.write({ '2_mixed': sql, [INDEX]: '' });
  await expect(scratch.apply()).rejects.toThrow('The migration 2_mixed says CONCURRENTLY');
});

test("Prisma's engine applies the same file", async () => {
  const migrationDirectories = readMigrations(scratch.folder).map(({ name: path, sql, checksum: _ }) => ({
    path,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
  }));
  await withSchemaEngine(scratch.migrateDatabaseUrl, SCHEMA, (engine) =>
    engine.applyMigrations({
      migrationsList: {
        ...{ baseDir: scratch.folder, shadowDbInitScript: '', migrationDirectories },
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
      },
      filters: { externalTables: [], externalEnums: [] },
    }),
  );
  expect(await indexes()).toEqual([{ name: 'a_n', valid: true }]);
  const checksum = createHash('sha256')
    .update(FILES[INDEX] ?? '')
    .digest('hex');
  expect(readMigrations(scratch.folder).at(-1)?.checksum).toBe(checksum);
  expect(await scratch.apply()).toEqual({ applied: [] });
});
