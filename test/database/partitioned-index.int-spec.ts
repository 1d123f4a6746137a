// Promise: an index of a table in partitions is built while the table is in use, whatever dies or changes meanwhile.
import { withSchemaEngine } from '../../scripts/lib/schema-engine.mjs';
import { readMigrations } from '../../scripts/lib/migrations.mjs';
import { ScratchMigrations } from './scratch-migrations.js';

const TABLE = '1_table';
const INDEX = '2_index';
const NAME = 'a_of_n';
const FILES: Readonly<Record<string, string>> = {
  [TABLE]: `
    CREATE SCHEMA parts;
    CREATE TABLE a (n int NOT NULL, m int) PARTITION BY RANGE (n);
    CREATE TABLE parts.a_first PARTITION OF a FOR VALUES FROM (MINVALUE) TO (20000);
    CREATE TABLE parts.a_202701 PARTITION OF a FOR VALUES FROM (20000) TO (60000);
    INSERT INTO a SELECT n, n FROM generate_series(1, 40000) n;`,
  [INDEX]: `-- CreateIndex\nCREATE UNIQUE INDEX "${NAME}" ON "a"("n") WHERE ("m" > 0);\n`,
};
const BOTH = [`${NAME}_202701 valid`, `${NAME}_first valid`];
let scratch: ScratchMigrations;

beforeEach(async () => {
  scratch = await ScratchMigrations.create(FILES);
});
afterEach(() => scratch.remove());

/** Those of the partitions, and the table's. */
async function indexes(): Promise<{ own: string[]; table: string[] }> {
  const rows = await scratch.ask(
    `SELECT c.relname || CASE WHEN i.indisvalid THEN ' valid' ELSE ' invalid' END AS said, c.relkind = 'I' AS is_tables
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid = 'a'::regclass OR i.indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'parts'::regnamespace)
      ORDER BY c.relname`,
  );
  const of = (isTables: boolean): string[] =>
    rows.filter((row) => row['is_tables'] === isTables).map((row) => String(row['said']));
  return { own: of(false).sort(), table: of(true) };
}

test('each partition gets one, and the table a valid one', async () => {
  expect(await scratch.apply()).toEqual({ applied: [TABLE, INDEX] });
  expect(await indexes()).toEqual({ own: BOTH, table: [`${NAME} valid`] });
  const [plan] = await scratch.ask('EXPLAIN (FORMAT JSON) SELECT n FROM a WHERE n = 7 AND m > 0');
  expect(JSON.stringify(plan)).toContain(`${NAME}_first`);
  expect(await scratch.apply()).toEqual({ applied: [] });
});

test('readers and writers go on while it is built; a partition that is made meanwhile has it', async () => {
  await scratch.apply(TABLE);
  const reader = await scratch.reader('parts.a_202701');
  const building = scratch.apply();
  await scratch.buildWaits();
  await scratch.ask('CREATE TABLE parts.a_202702 PARTITION OF a FOR VALUES FROM (60000) TO (MAXVALUE)');
  expect(await scratch.ask('INSERT INTO a VALUES (-1, 1), (50000, 1), (70000, 1) RETURNING n')).toHaveLength(3);
  await reader.end();
  expect(await building).toEqual({ applied: [INDEX] });
  const { own, table } = await indexes();
  expect([own.length, table]).toEqual([3, [`${NAME} valid`]]);
  for (const n of [-1, 50_000, 70_000])
    await expect(scratch.ask(`INSERT INTO a VALUES (${n}, 1)`)).rejects.toThrow('duplicate key');
});

test('a writer that is not done is waited for, and others are not kept waiting behind that', async () => {
  await scratch.apply(TABLE);
  const writer = await scratch.transaction('INSERT INTO a VALUES (-1, 1)');
  const building = scratch.apply();
  await scratch.waitsForLock('CREATE UNIQUE INDEX %');
  for (let n = -2; n > -12; n -= 1) await scratch.ask(`SET lock_timeout = '2s'; INSERT INTO a VALUES (${n}, 1)`);
  expect((await indexes()).table).toEqual([]);
  await writer.commit();
  expect(await building).toEqual({ applied: [INDEX] });
});

test('killed with its connection while it is built: the next run goes on', async () => {
  await scratch.apply(TABLE);
  const reader = await scratch.reader('a');
  const { kill } = scratch.startProcess();
  await scratch.buildWaits();
  await kill();
  await scratch.endBuild();
  await reader.end();
  const left = await indexes();
  expect([left.own.filter((said) => said.endsWith(' invalid')).length, left.table]).toEqual([1, [`${NAME} invalid`]]);
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual({ own: BOTH, table: [`${NAME} valid`] });
});

test('killed between building and attaching: what is built is taken', async () => {
  await scratch.apply(TABLE);
  const own = `${NAME}_first`;
  await scratch.ask(`CREATE UNIQUE INDEX "${NAME}" ON ONLY a (n) WHERE m > 0`);
  await scratch.ask(`CREATE UNIQUE INDEX "${own}" ON parts.a_first (n) WHERE m > 0`);
  const idOf = async (): Promise<unknown> => (await scratch.ask(`SELECT 'parts."${own}"'::regclass::oid AS id`))[0];
  const before = await idOf();
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
  expect([await idOf(), await indexes()]).toEqual([before, { own: BOTH, table: [`${NAME} valid`] }]);
});

test('a partition that is taken off while its index is built needs none', async () => {
  await scratch.apply(TABLE);
  const reader = await scratch.reader('parts.a_202701');
  const building = scratch.apply();
  await scratch.buildWaits();
  // It waits for the build, which waits for the reader.
  const taking = scratch.ask('ALTER TABLE a DETACH PARTITION parts.a_202701');
  await scratch.waitsForLock('ALTER TABLE %');
  await reader.end();
  expect(await building).toEqual({ applied: [INDEX] });
  await taking;
  expect((await indexes()).table).toEqual([`${NAME} valid`]);
});

test('rows that a unique index cannot hold: nothing is left that would refuse others', async () => {
  await scratch.apply(TABLE);
  await scratch.ask('INSERT INTO a VALUES (1, 1)');
  await scratch.askServer(`ALTER ROLE fiscal_owner IN DATABASE ${scratch.database} SET lock_timeout = '50ms'`);
  const failed: unknown = await scratch.apply().catch((error: unknown) => error);
  expect(failed).toMatchObject({
    message: `The migration ${INDEX} failed; the index ${NAME} was not built.`,
    cause: { code: '23505' },
  });
  expect(await indexes()).toEqual({ own: [], table: [] });
  await scratch.ask('DELETE FROM a WHERE n = 1');
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
});

test('another failure leaves what is built for the next run', async () => {
  await scratch.apply(TABLE);
  const reader = await scratch.reader('a');
  const building = scratch.apply().catch((error: unknown) => error);
  await scratch.buildWaits();
  const [{ pid } = {}] = await scratch.builds();
  await scratch.askServer(`SELECT pg_cancel_backend(${String(pid)})`);
  await reader.end();
  expect(await building).toMatchObject({ cause: { code: '57014' } });
  expect((await indexes()).table).toEqual([`${NAME} invalid`]);
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual({ own: BOTH, table: [`${NAME} valid`] });
});

test('the last partition that lacked it is taken off between two runs', async () => {
  await scratch.apply(TABLE);
  await scratch.ask(`
    CREATE UNIQUE INDEX "${NAME}" ON ONLY a (n) WHERE m > 0;
    CREATE UNIQUE INDEX "${NAME}_202701" ON parts.a_202701 (n) WHERE m > 0;
    ALTER INDEX "${NAME}" ATTACH PARTITION parts."${NAME}_202701";
    ALTER TABLE a DETACH PARTITION parts.a_first`);
  expect((await indexes()).table).toEqual([`${NAME} invalid`]);
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
  expect((await indexes()).table).toEqual([`${NAME} valid`]);
});

test('a partition that the relay has taken off and put back has its own: what is built beside it goes', async () => {
  await scratch.apply(TABLE);
  await scratch.ask(`CREATE UNIQUE INDEX "${NAME}" ON ONLY a (n) WHERE m > 0`);
  const keeper = await scratch.transaction(`
    ALTER TABLE a DETACH PARTITION parts.a_202701;
    ALTER TABLE a ATTACH PARTITION parts.a_202701 FOR VALUES FROM (20000) TO (60000)`);
  const building = scratch.apply();
  await scratch.waitsForLock('CREATE UNIQUE INDEX CONCURRENTLY %');
  await keeper.commit();
  expect(await building).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual({ own: ['a_202701_n_idx valid', `${NAME}_first valid`], table: [`${NAME} valid`] });
});

test('one that a killed build has left in a partition which got its own goes, too', async () => {
  await scratch.apply(TABLE);
  await scratch.ask(`
    CREATE UNIQUE INDEX "${NAME}" ON ONLY a (n) WHERE m > 0;
    CREATE UNIQUE INDEX "${NAME}_202701" ON parts.a_202701 (n) WHERE m > 0;
    CREATE UNIQUE INDEX relays ON parts.a_202701 (n) WHERE m > 0;
    ALTER INDEX "${NAME}" ATTACH PARTITION parts.relays`);
  expect(await scratch.apply()).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual({ own: [`${NAME}_first valid`, 'relays valid'], table: [`${NAME} valid`] });
});

test('a name that would be cut off in a partition is refused before anything is built', async () => {
  const name = `a_${'n'.repeat(50)}`;
  scratch.write({ [INDEX]: `CREATE INDEX "${name}" ON "a"("n");` });
  await expect(scratch.apply()).rejects.toMatchObject({
    cause: { message: expect.stringContaining('at most 51 letters') as string },
  });
  expect(await indexes()).toEqual({ own: [], table: [] });
});

test("Prisma's engine applies the same file", async () => {
  const migrationDirectories = readMigrations(scratch.folder).map(({ name: path, sql }) => ({
    path,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
  }));
  await withSchemaEngine(scratch.migrateDatabaseUrl, 'datasource db {\n  provider = "postgresql"\n}\n', (engine) =>
    engine.applyMigrations({
      migrationsList: {
        ...{ baseDir: scratch.folder, shadowDbInitScript: '', migrationDirectories },
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
      },
      filters: { externalTables: [], externalEnums: [] },
    }),
  );
  expect((await indexes()).table).toEqual([`${NAME} valid`]);
  expect(await scratch.apply()).toEqual({ applied: [] });
});
