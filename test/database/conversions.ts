// A filled database that is converted by its migrations while programs write to it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createEmptyDatabase } from '#database/testing';
import { firstIdAt } from '#runtime';
import { until } from '../../libs/runtime/src/testing/until.js';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';

interface Urls {
  ownerUrl: string;
  url: string;
}

/** SQL: the id of receipt `n`; each second one is of a sandbox. */
export const OLD_RECEIPT = `CASE n % 2 WHEN 0 THEN 'rcp_01ka' ELSE 'rcp_test_01ka' END || lpad(n::text, 22, '0')`;

const inDays = (days: number): string =>
  `${firstIdAt('rcp', new Date(Date.now() + days * 86_400_000))}${'0'.repeat(16)}`;

/** Ids that a conversion by the ids of receipts finds, and why it refuses; null: it does not. */
export const ODD_RECEIPTS: readonly [of: string, id: string, refused: string | null][] = [
  ['of no program', 'rcp_a', 'no program of this system makes'],
  ['of a clock that was years ahead', inDays(800), 'years ahead'],
  ['of a clock that was ahead', inDays(400), null],
];

export async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

/**
 * The rights and policies that a release before gave: prisma/grants.sql names functions that are not there yet.
 * @param conditions by table: whose rows a merchant's are
 */
export async function grantAsBefore(owner: pg.Client, conditions: Readonly<Record<string, string>>): Promise<void> {
  await owner.query(`
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO fiscal_app, fiscal_app_tenant;
    GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO fiscal_app, fiscal_app_tenant`);
  for (const [table, condition] of Object.entries(conditions))
    await owner.query(`
      CREATE POLICY programs ON ${table} TO fiscal_app USING (true) WITH CHECK (true);
      CREATE POLICY merchant ON ${table} TO fiscal_app_tenant USING (${condition}) WITH CHECK (${condition});
      ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
}

/**
 * Writes as two programs do, until `during` has ended; ends at the first row that is refused.
 * @param write one row; returns its id
 * @returns their ids
 */
export async function writtenDuring(
  { url }: Urls,
  write: (client: pg.Client) => Promise<string>,
  during: (written: readonly string[]) => Promise<void>,
): Promise<string[]> {
  const written: string[] = [];
  let isOver = false;
  const writers = Array.from({ length: 2 }, async () => {
    const client = await connect(url);
    try {
      while (!isOver) written.push(await write(client));
    } finally {
      await client.end();
    }
  });
  const all = Promise.all(writers);
  try {
    await Promise.race([during(written), all]);
  } finally {
    isOver = true;
    await all;
  }
  return written;
}

/** The code with which a session is refused; undefined: it is not. */
export function refusalOf(
  session: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<string | undefined> {
  return session.query(text, [...values]).then(
    () => undefined,
    (error: unknown) => (error instanceof pg.DatabaseError ? error.code : 'no code'),
  );
}

/** This session waits for another one, as `watcher` sees. */
export async function untilWaiting(session: pg.Client, watcher: pg.Client): Promise<void> {
  const { processID: pid } = session as pg.Client & { processID: number };
  await until(
    'it waits',
    async () => (await watcher.query('SELECT FROM pg_locks WHERE pid = $1 AND NOT granted', [pid])).rowCount,
    (waiting) => (waiting ?? 0) > 0,
  );
}

/** So many more have been written. */
export async function moreWritten(written: readonly string[], count: number): Promise<void> {
  const before = written.length;
  while (written.length < before + count) await delay(10);
}

/** A reader keeps the migration that comes next from this table: it is killed while it waits. */
export async function migrateAndDie(urls: Urls, table: string): Promise<void> {
  const reader = await connect(urls.ownerUrl);
  await reader.query(`BEGIN; LOCK TABLE ${table} IN ACCESS SHARE MODE`);
  const waiting = `SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE NOT l.granted AND l.mode = 'AccessExclusiveLock' AND c.relname = $1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  await migrateAndDieWhen(urls, async (watcher) => (await watcher.query(waiting, [table])).rows.length > 0);
  await reader.query('ROLLBACK');
  await reader.end();
}

/** Migrates in a process of its own, which is killed as soon as it has come so far. */
export async function migrateAndDieWhen(
  { ownerUrl, url }: Urls,
  isThere: (watcher: pg.Client) => Promise<boolean>,
): Promise<void> {
  const watcher = await connect(ownerUrl);
  const script = `
    import { migrate } from ${JSON.stringify(new URL('../../scripts/lib/migrations.mjs', import.meta.url).href)};
    await migrate({ migrateDatabaseUrl: ${JSON.stringify(ownerUrl)}, databaseUrl: ${JSON.stringify(url)} });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = once(child, 'exit');
  while (child.exitCode === null && !(await isThere(watcher))) await delay(2);
  child.kill('SIGKILL');
  await ended;
  await watcher.end();
  expect(child.exitCode).toBeNull();
}

/** What was there is the first partition, the last one has no end, and three months stand between. */
export async function expectMonthsAhead(owner: pg.Client, table: string): Promise<void> {
  const { rows } = await owner.query<{ name: string; lower_id: string | null; upper_id: string | null }>(
    `SELECT p.* FROM partitions_of($1) p ORDER BY lower_id NULLS FIRST`,
    [table],
  );
  expect(rows[0]).toMatchObject({ name: `${table}_first`, lower_id: null });
  expect(rows.at(-1)?.upper_id).toBeNull();
  expect(rows.slice(1).map(({ lower_id: lower }) => lower)).toEqual(
    rows.slice(0, -1).map(({ upper_id: upper }) => upper),
  );
  const { rows: ahead } = await owner.query<{ is_far: boolean }>(
    `SELECT time_of_id($1) BETWEEN now() + interval '3 months' AND now() + interval '4 months' AS is_far`,
    [rows.at(-1)?.lower_id],
  );
  expect(ahead).toEqual([{ is_far: true }]);
}

/** The migration that shuts these tables, the last of a conversion, reads none of their rows and builds no index over them. */
export async function expectNothingRead(migration: string, tables: readonly string[]): Promise<void> {
  const empty = await createEmptyDatabase();
  const client = await connect(empty.ownerUrl);
  const notices: string[] = [];
  client.on('notice', ({ message }) => notices.push(message ?? ''));
  try {
    const migrations = readMigrations();
    const before = migrations.filter(({ name }) => name < migration);
    await migrate({ migrateDatabaseUrl: empty.ownerUrl, databaseUrl: undefined, migrations: before });
    await client.query('SET client_min_messages = debug1');
    await client.query(`BEGIN; ${migrations.find(({ name }) => name === migration)?.sql ?? ''}; COMMIT`);
    const implied = notices.filter((notice) => notice.includes('is implied by existing constraints'));
    for (const table of tables) expect(implied.filter((notice) => notice.includes(`"${table}_first"`))).toHaveLength(1);
    expect(notices.filter((notice) => /building index .* on table "\w+_first"/.test(notice))).toEqual([]);
  } finally {
    await client.end();
    await empty.drop();
  }
}
