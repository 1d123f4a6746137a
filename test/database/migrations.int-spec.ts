// Promise: a database is migrated whole or not at all, once, by whichever program comes, and Prisma's own tools can carry on from it.
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import { applyAndReadLocks, faultsOfLocks } from '../../scripts/lib/migration-locks.mjs';
import { blockingStatements, breakingStatements, splitIndexes } from '../../scripts/lib/migration-statements.mjs';
import { partitionedNames } from '../../scripts/lib/partitioned-index.mjs';
import { findSchemaChanges } from '../../scripts/lib/schema-changes.mjs';
import { withSchemaEngine } from '../../scripts/lib/schema-engine.mjs';

type Migration = ReturnType<typeof readMigrations>[number];

const MIGRATIONS_DIR = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');
const SCHEMA = 'datasource db {\n  provider = "postgresql"\n}\n';
const FUNCTION = 'CREATE FUNCTION one() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END; $$;';
const adminUrl = process.env['TEST_DATABASE_ADMIN_URL'] ?? '';
let name = '';
let migrateDatabaseUrl = '';
let databaseUrl = '';

beforeEach(async () => {
  name = `migrations_${randomBytes(5).toString('hex')}`;
  await ask(adminUrl, `CREATE DATABASE ${name} OWNER fiscal_owner`);
  [migrateDatabaseUrl, databaseUrl] = [urlFor('fiscal_owner'), urlFor('fiscal_app')];
});
afterEach(() => ask(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`));

function urlFor(role: string): string {
  const url = new URL(adminUrl);
  [url.username, url.pathname] = [role, `/${name}`];
  return url.href;
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

function migration(migrationName: string, sql: string): Migration {
  return { name: migrationName, sql, checksum: createHash('sha256').update(sql).digest('hex') };
}

const NONE: ReadonlySet<string> = new Set();

/** The last one of those that were written before indexes could be built beside the sales. */
const LAST_THAT_BLOCKS = '20261121013653_payments_not_at_rest';

/** From before the rule; what has left a machine is never edited. */
const WROTE_WHILE_SHUT = '20261122095123_terminals';

/** Takes columns of tables without rows away and gives them back under their names, in one transaction (test/database/column-order.int-spec.ts). */
const GIVES_BACK = '20261126150000_what_moves_together';

/** As Prisma's engine wants the folder of migrations. */
function listFor(migrations: readonly Migration[]) {
  return {
    baseDir: MIGRATIONS_DIR,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name: path, sql }) => ({
      path,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
    })),
  };
}

const nothing = { externalTables: [], externalEnums: [] };

test('the migrations of the repository apply once, also by two at the same time', async () => {
  const wanted = readMigrations().map((each) => each.name);
  const both = await Promise.all([
    migrate({ migrateDatabaseUrl, databaseUrl }),
    migrate({ migrateDatabaseUrl, databaseUrl }),
  ]);
  expect(both.map(({ applied }) => applied).sort((a, b) => b.length - a.length)).toEqual([wanted, []]);
  expect(await migrate({ migrateDatabaseUrl, databaseUrl })).toEqual({ applied: [] });
});

test("Prisma's engine finds the history complete and has nothing to do", async () => {
  const migrations = [...readMigrations(), migration('29990101000000_function', FUNCTION)];
  await migrate({ migrateDatabaseUrl, databaseUrl, migrations });
  await withSchemaEngine(migrateDatabaseUrl, SCHEMA, async (engine) => {
    const migrationsList = listFor(migrations);
    const optInToShadowDatabase = false;
    const diagnosis = await engine.diagnoseMigrationHistory({
      migrationsList,
      optInToShadowDatabase,
      filters: nothing,
    });
    expect(diagnosis).toMatchObject({ editedMigrationNames: [], failedMigrationNames: [], history: null });
    expect(await engine.applyMigrations({ migrationsList, filters: nothing })).toEqual({ appliedMigrationNames: [] });
  });
});

test("migrating continues after what Prisma's engine applied", async () => {
  const migrations = [
    migration('1_first', `CREATE TABLE a (id int);\n${FUNCTION}`),
    migration('2_second', 'CREATE TABLE b (id int);'),
  ];
  const migrationsList = listFor(migrations.slice(0, 1));
  await withSchemaEngine(migrateDatabaseUrl, SCHEMA, (engine) =>
    engine.applyMigrations({ migrationsList, filters: nothing }),
  );
  expect(await ask(migrateDatabaseUrl, 'SELECT one() AS one')).toEqual([{ one: 1 }]);
  // prisma/grants.sql names tables of the real schema: without databaseUrl nothing is granted.
  expect(await migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations })).toEqual({ applied: ['2_second'] });
});

test('a migration that fails leaves nothing behind and can be mended', async () => {
  const broken = migration('1_broken', 'CREATE TABLE a (id int); SELECT 1 / 0;');
  await expect(migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations: [broken] })).rejects.toThrow(
    '1_broken',
  );
  expect(await ask(migrateDatabaseUrl, "SELECT to_regclass('a') AS a")).toEqual([{ a: null }]);
  const mended = migration('1_broken', 'CREATE TABLE a (id int);');
  expect(await migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations: [mended] })).toEqual({
    applied: ['1_broken'],
  });
});

test('an edited migration and a database that is newer than the program are refused', async () => {
  const first = migration('1_first', 'CREATE TABLE a (id int);');
  await migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations: [first] });
  const edited = migration('1_first', 'CREATE TABLE a (id bigint);');
  await expect(migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations: [edited] })).rejects.toThrow(
    'The migration 1_first was edited after it had been applied',
  );
  await expect(migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations: [] })).rejects.toThrow('it is newer');
});

test('the migrations lead to the schema, and a forgotten migration is found', async () => {
  await migrate({ migrateDatabaseUrl, databaseUrl });
  expect(await findSchemaChanges(migrateDatabaseUrl)).toBeNull();
  const changed = `${SCHEMA}model Forgotten {\n  id Int @id\n}\n`;
  expect(await findSchemaChanges(migrateDatabaseUrl, changed)).toContain('CREATE TABLE "Forgotten"');
});

test("the programs' role is made when it is missing, and only by an owner who may", async () => {
  const url = new URL(databaseUrl);
  url.username = `app_${randomBytes(4).toString('hex')}`;
  await expect(migrate({ migrateDatabaseUrl, databaseUrl: url.href })).rejects.toThrow('may not make it');
  await ask(adminUrl, 'ALTER ROLE fiscal_owner CREATEROLE');
  try {
    await migrate({ migrateDatabaseUrl, databaseUrl: url.href });
    expect(await ask(url.href, 'SELECT count(*)::int AS n FROM receipts')).toEqual([{ n: 0 }]);
    await expect(ask(url.href, 'DELETE FROM audit_records')).rejects.toThrow('permission denied');
  } finally {
    await ask(adminUrl, 'ALTER ROLE fiscal_owner NOCREATEROLE');
    await ask(urlFor('postgres'), `DROP OWNED BY ${url.username}`);
    await ask(adminUrl, `DROP ROLE ${url.username}`);
  }
});

test('no migration of a later release holds up the writers of a table in use', async () => {
  await migrate({ migrateDatabaseUrl, databaseUrl });
  const client = new pg.Client({ connectionString: migrateDatabaseUrl });
  await client.connect();
  const partitioned = await partitionedNames(client);
  await client.end();
  expect([...partitioned]).toEqual(
    expect.arrayContaining(['webhook_attempts', 'webhook_deliveries', 'webhook_deliveries_pkey']),
  );
  const later = readMigrations().filter((each) => each.name > LAST_THAT_BLOCKS);
  expect(
    later.flatMap(({ name: each, sql }) => blockingStatements(sql, partitioned).map((why) => `${each}: ${why}`)),
  ).toEqual([]);
});

test.each([
  ['an index', 'CREATE UNIQUE INDEX "x" ON "receipts"("id") WHERE (id > 1);'],
  ['a foreign key', 'ALTER TABLE "a" ADD CONSTRAINT "f" FOREIGN KEY ("b") REFERENCES "c"("id");'],
  ['a check', '-- why\nALTER TABLE a\n  ADD CONSTRAINT f CHECK (b > 0);'],
  ['a unique constraint', 'ALTER TABLE a ADD CONSTRAINT f UNIQUE (b);'],
  ['a column that may not be null any more', 'ALTER TABLE a ALTER COLUMN b SET NOT NULL;'],
])('such a statement is found: %s, but not on a table that is new', (_what, sql) => {
  expect(blockingStatements(`CREATE TABLE other (id int);\n${sql}`, NONE)).toHaveLength(1);
  expect(blockingStatements(`CREATE TABLE "a" (id int);\nCREATE TABLE receipts (id int);\n${sql}`, NONE)).toEqual([]);
});

test('a setting of a column that is called type is no new column', () => {
  expect(blockingStatements('ALTER TABLE a ALTER COLUMN type SET (n_distinct = 9);', NONE)).toEqual([]);
  expect(blockingStatements('ALTER TABLE a ALTER COLUMN type TYPE text;', NONE)).toHaveLength(1);
});

test('no migration takes from the release before what it works with', () => {
  const all = readMigrations();
  const judged = all.filter((each) => each.name !== GIVES_BACK);
  expect(judged.flatMap((each) => breakingStatements(each, all).map((why) => `${each.name}: ${why}`))).toEqual([]);
});

test.each([
  ['a table that goes', 'DROP TABLE a;'],
  ['a column that goes', 'ALTER TABLE "a" ADD COLUMN c int, DROP COLUMN "b";'],
  ['another name', 'ALTER TABLE a RENAME COLUMN b TO c;'],
  ['a column that every row must have', 'ALTER TABLE "a" ADD COLUMN "b" TEXT NOT NULL;'],
  ['a default that goes', 'ALTER TABLE a ALTER COLUMN b DROP DEFAULT;'],
])(
  'the release before could not go on: %s, unless the table is new or an earlier migration prepared it',
  (_what, sql) => {
    const first = migration('20300101000000_expand', 'SELECT 1;');
    const next = (text: string): Migration => migration('20300102000000_next', text);
    const all = [first, next(sql)];
    expect(breakingStatements(next(sql), all)).toHaveLength(1);
    expect(breakingStatements(next(`CREATE TABLE "a" (id int);\n${sql}`), all)).toEqual([]);
    expect(breakingStatements(next(`-- contract: ${first.name}\n${sql}`), all)).toEqual([]);
    expect(breakingStatements(next(`-- contract: 20300103000000_later\n${sql}`), all)).toHaveLength(1);
  },
);

test('the locks that each migration of a later release really takes hold no writer up for longer than a moment', async () => {
  const client = new pg.Client({ connectionString: migrateDatabaseUrl });
  await client.connect();
  try {
    const faults: string[] = [];
    for (const each of readMigrations()) {
      const found = faultsOfLocks(await applyAndReadLocks(client, each));
      if (each.name > LAST_THAT_BLOCKS && each.name !== WROTE_WHILE_SHUT)
        faults.push(...found.map((why) => `${each.name}: ${why}`));
    }
    expect(faults).toEqual([]);
    const apply = async (sql: string): Promise<string[]> =>
      faultsOfLocks(await applyAndReadLocks(client, migration('29990101000000_next', sql)));
    // No pattern of the text shows that this default is another one for each row.
    expect(await apply('ALTER TABLE receipts ADD COLUMN drawn double precision DEFAULT random();')).toContain(
      'receipts_first is written anew as a whole, while it is shut',
    );
    expect(await apply('ALTER TABLE devices ADD COLUMN two text; UPDATE receipts SET external_id = NULL;')).toContain(
      'rows of receipts are written while devices is shut',
    );
    expect(
      await apply('ALTER TABLE devices ADD COLUMN three int NOT NULL DEFAULT 0; CREATE TABLE four (id int);'),
    ).toEqual([]);
    expect(await apply('UPDATE devices SET two = NULL;')).toEqual([]);
    expect(await apply('CREATE INDEX "of_type" ON "webhook_deliveries"("type");')).toEqual([]);
    const valid = 'SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indisvalid';
    expect(await ask(migrateDatabaseUrl, valid)).toEqual(
      expect.arrayContaining([{ name: 'of_type' }, { name: 'parts.of_type_first' }]),
    );
    const drawn = 'ALTER TABLE webhook_deliveries ADD COLUMN drawn double precision DEFAULT random();';
    expect(await apply(drawn)).toContain('webhook_deliveries_first is written anew as a whole, while it is shut');
    expect(await apply('ALTER TABLE devices ADD COLUMN five int; DELETE FROM webhook_deliveries;')).toContain(
      'rows of webhook_deliveries are written while devices is shut',
    );
  } finally {
    await client.end();
  }
});

test('what does not read the table may stay', () => {
  const sql = `ALTER TABLE a ADD COLUMN b int NOT NULL DEFAULT 0;
    ALTER TABLE a ADD CONSTRAINT f CHECK (b > 0) NOT VALID;
    ALTER TABLE a VALIDATE CONSTRAINT f;
    CREATE INDEX CONCURRENTLY "x" ON "a"("b");`;
  expect(blockingStatements(sql, NONE)).toEqual([]);
});

test.each([
  ['plain', 'CREATE INDEX "x" ON "a"("b");', 0],
  ['with something beside it', 'ALTER TABLE a ADD COLUMN c int;\nCREATE INDEX "x" ON "a"("b");', 1],
  ['of the table alone, valid never', 'CREATE INDEX "x" ON ONLY "a"("b");', 1],
  ['with a semicolon, which is not understood', `CREATE INDEX "x" ON "a"("b") WHERE c <> ';';`, 1],
])('an index of a table in partitions: %s', (_what, sql, faults) => {
  expect(blockingStatements(sql, new Set(['a']))).toHaveLength(faults);
});

test('a new migration builds an index of a table in partitions plainly, before the old one goes', () => {
  const script = 'DROP INDEX "old";\nCREATE INDEX "x" ON "a"("b");\n';
  expect(splitIndexes(script, new Set(['a', 'old']))).toEqual({
    rest: null,
    indexes: [
      { name: 'x', sql: 'CREATE INDEX "x" ON "a"("b");\n' },
      { name: 'without_old', sql: 'DROP INDEX "old";\n' },
    ],
  });
});

test('a new migration has the indexes of existing tables taken out', () => {
  const script = `-- CreateTable
CREATE TABLE "new" (
    "id" TEXT NOT NULL
);

-- DropIndex
DROP INDEX "old_one";

-- CreateIndex
CREATE INDEX "new_id" ON "new"("id");

-- CreateIndex
CREATE UNIQUE INDEX "old_two" ON "receipts"("id") WHERE (id <> ';');
`;
  expect(splitIndexes(script, NONE)).toEqual({
    rest: '-- CreateTable\nCREATE TABLE "new" (\n    "id" TEXT NOT NULL\n);\n\n-- CreateIndex\nCREATE INDEX "new_id" ON "new"("id");\n',
    indexes: [
      {
        name: 'old_two',
        sql: `-- CreateIndex\nCREATE UNIQUE INDEX CONCURRENTLY "old_two" ON "receipts"("id") WHERE (id <> ';');\n`,
      },
      { name: 'without_old_one', sql: '-- DropIndex\nDROP INDEX CONCURRENTLY "old_one";\n' },
    ],
  });
});
