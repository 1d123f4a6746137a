import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Prisma } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import {
  archiveInFolder,
  CALL_TABLES,
  PARTITIONED_TABLES,
  type ArchiveFiles,
  type KeepDays,
  type RunStatement,
} from '#ledger';
import { createLogger, firstIdAt } from '#runtime';
import { rowsIn } from '../../../../../libs/ledger/src/testing/archive-places.js';
import { PARTITION_OPTIONS, PartitionKeeper } from '../partition-keeper.js';

const logger = createLogger('test', 'silent');
let made = 0;

/** What a test has: a database, a session of its owner and one of the programs, a folder for archives. */
export const at = {} as { database: TestDatabase; owner: pg.Client; programs: pg.Client; folder: string };

export const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await at.programs.query(text, [...values])).rows as Row[];

/** A database with partitions of five months that are over, and a merchant with an endpoint that is there and one that is deleted. */
export async function openAged(): Promise<void> {
  at.folder = await mkdtemp(join(tmpdir(), 'archive-'));
  at.database = await createTestDatabase();
  [at.owner, at.programs] = [at.database.ownerUrl, at.database.url].map(
    (connectionString) => new pg.Client({ connectionString }),
  ) as [pg.Client, pg.Client];
  await at.owner.connect();
  await at.programs.connect();
  await at.owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '300000000');
    INSERT INTO webhook_endpoints (id, merchant_id, url, events, deleted_at) VALUES
      ('whk_live', 'mer_1', 'https://a.example', '{*}', NULL), ('whk_gone', 'mer_1', 'https://b.example', '{*}', now() - interval '60 days')`);
  await age();
}

export async function closeAged(): Promise<void> {
  await at.owner?.end();
  await at.programs?.end();
  await at.database?.drop();
  await rm(at.folder, { recursive: true });
}

/** The first of the month that is so many months from this one. */
export function monthAt(months: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));
}

export const suffix = (months: number): string => monthAt(months).toISOString().slice(0, 7).replace('-', '');

/** A month each; receipts have half-years. */
export const MONTHLY_TABLES = PARTITIONED_TABLES.filter((table) => table !== 'receipts');

function boundOf(table: (typeof MONTHLY_TABLES)[number], moment: Date): string {
  if (CALL_TABLES.some((name) => name === table)) return moment.toISOString();
  if (table === 'attempts') return firstIdAt('rcp', moment);
  return firstIdAt(table === 'events' ? 'evt' : 'dlv', moment);
}

/** As if it had been converted five months ago, and no keeper had come since: the last partition begins with the next month. */
async function age(): Promise<void> {
  for (const table of MONTHLY_TABLES) {
    const bound = (months: number): string => boundOf(table, monthAt(months));
    const { rows } = await at.owner.query<{ name: string }>('SELECT name FROM partitions_of($1)', [table]);
    for (const { name } of rows) await at.owner.query(`DROP TABLE parts.${name}`);
    const create = (name: string, bounds: string): Promise<unknown> =>
      at.owner.query('SELECT create_partition($1, $2, $3)', [table, `${table}_${name}`, bounds]);
    // What was there of attempts is the partition of what is in no month.
    if (table !== 'attempts') await create('first', `FROM (MINVALUE) TO ('${bound(-4)}')`);
    for (let month = -4; month < 1; month += 1)
      await create(suffix(month), `FROM ('${bound(month)}') TO ('${bound(month + 1)}')`);
    await create(suffix(1), `FROM ('${bound(1)}') TO (${table === 'attempts' ? `'rcp_t'` : 'MAXVALUE'})`);
  }
}

interface Made {
  /** Of which month, from this one; in its middle. */
  month: number;
  state?: 'pending' | 'delivered' | 'failed';
  finishedDaysAgo?: number;
  endpoint?: string;
}

/** Deliveries with two attempts each. @returns their ids */
export async function deliver(count: number, given: Made): Promise<string[]> {
  const { month, state = 'delivered', finishedDaysAgo, endpoint = 'whk_live' } = given;
  const moment = new Date(monthAt(month).getTime() + 10 * 86_400_000);
  const from = (made += count) - count;
  const finished =
    state === 'pending'
      ? null
      : finishedDaysAgo === undefined
        ? moment
        : new Date(Date.now() - finishedDaysAgo * 86_400_000);
  const { rows } = await at.programs.query<{ id: string }>(
    `INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state, created_at, finished_at)
     SELECT $1 || lpad(n::text, 16, '0'), 'mer_1', $2, n, 'evt_' || n, 'receipt.registered', 'rcp_' || n, 'https://a.example',
            $3::delivery_state, $4, $5 FROM generate_series($6::int4, $7::int4) AS n RETURNING id`,
    [firstIdAt('dlv', moment), endpoint, state, moment, finished, from + 1, from + count],
  );
  const ids = rows.map(({ id }) => id);
  await at.programs.query(
    `INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, outcome, answer)
     SELECT id, number, $2, 1, 'refused', 'чек' FROM unnest($1::text[]) AS id, generate_series(1, 2) AS number`,
    [ids, moment],
  );
  return ids;
}

type Options = Partial<typeof PARTITION_OPTIONS> & {
  folder?: string;
  archive?: ArchiveFiles;
  keepCallsDays?: number;
  keepLeavingDays?: KeepDays;
};

export function keeper(options: Options = {}): PartitionKeeper {
  const { folder, ...others } = options;
  return new PartitionKeeper(
    at.database.url,
    {
      ...PARTITION_OPTIONS,
      ...{ pauseMs: 0, retryMs: 5, keepDays: 30, keepEventsDays: 30, keepCallsDays: 30 },
      keepLeavingDays: { attempts: 90, receipts: 396 },
      archive: folder === undefined ? null : archiveInFolder(folder),
      ...others,
    },
    logger,
  );
}

/** The text of a program that is a keeper of small steps, to be killed in one of them. */
export function keeperProgram(): string {
  const keeperModule = join(import.meta.dirname, '../partition-keeper.ts');
  return `
    import { archiveInFolder } from '#ledger';
    import { PartitionKeeper, PARTITION_OPTIONS } from ${JSON.stringify(keeperModule)};
    const options = { ...PARTITION_OPTIONS, keepDays: 30, keepEventsDays: 30, keepCallsDays: 30, keepLeavingDays: { attempts: 90, receipts: 396 }, archive: archiveInFolder(${JSON.stringify(at.folder)}), rowsAtOnce: 5, maxRows: 20, pauseMs: 8 };
    const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const keeper = new PartitionKeeper(${JSON.stringify(at.database.url)}, options, quiet);
    await keeper.run();`;
}

/** As an archive would hold it, by delivery and number. */
export async function rowsOf(table: string): Promise<string[]> {
  const key = table.includes('webhook_attempts') ? 'delivery_id, number' : table.includes('events') ? 'position' : 'id';
  const { rows } = await at.owner.query<{ line: string }>(
    `SELECT to_jsonb(t)::text AS line FROM ${table} t ORDER BY ${key}`,
  );
  return rows.map(({ line }) => line);
}

export const both = async (): Promise<string[]> => [
  ...(await rowsOf('webhook_deliveries')),
  ...(await rowsOf('webhook_attempts')),
];

export async function ids(): Promise<string[]> {
  return (await at.owner.query<{ id: string }>('SELECT id FROM webhook_deliveries ORDER BY id')).rows.map(
    ({ id }) => id,
  );
}

export async function partitions(table = 'webhook_deliveries'): Promise<string[]> {
  const { rows } = await at.owner.query<{ name: string }>(
    'SELECT name FROM partitions_of($1) ORDER BY lower_id NULLS FIRST',
    [table],
  );
  return rows.map(({ name }) => name.replace(`${table}_`, ''));
}

/** Taken off, and not dropped. */
export async function released(): Promise<string[]> {
  const { rows } = await at.owner.query<{ name: string }>(
    'SELECT name FROM released_partitions WHERE dropped_at IS NULL ORDER BY name',
  );
  return rows.map(({ name }) => name);
}

export async function tables(like = 'webhook_%'): Promise<number> {
  const { rows } = await at.owner.query<{ n: number }>(
    `SELECT count(*)::int4 AS n FROM pg_class WHERE relnamespace = to_regnamespace('parts') AND relkind = 'r' AND relname LIKE $1`,
    [like],
  );
  return rows[0]?.n ?? 0;
}

/** Lines of all archives that count. */
export async function archived(files = archiveInFolder(at.folder)): Promise<string[]> {
  const { rows } = await at.owner.query<{ name: string }>(
    `SELECT name FROM archives WHERE state IN ('written', 'removed', 'restored') ORDER BY name`,
  );
  const lines: string[] = [];
  for (const { name } of rows) {
    expect([name, await files.check(name)]).toEqual([name, 'whole']);
    for await (const group of rowsIn(files, name, 7)) lines.push(...group);
  }
  return lines;
}

/** The attempts of the month are archived, and could not be dropped. @returns their archives */
export async function stoppedBeforeDrop(options: Options = { folder: at.folder }): Promise<string[]> {
  const admin = new pg.Client({ connectionString: at.database.adminUrl });
  await admin.connect();
  await admin.query(`
    CREATE FUNCTION keep_month() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE object_name = 'webhook_attempts_${suffix(-3)}') THEN
        RAISE EXCEPTION 'the keeper dies here';
      END IF;
    END $$;
    CREATE EVENT TRIGGER keep_month ON sql_drop EXECUTE FUNCTION keep_month()`);
  try {
    await expect(keeper(options).run()).rejects.toThrow('the keeper dies here');
  } finally {
    await admin.query('DROP EVENT TRIGGER keep_month; DROP FUNCTION keep_month()');
    await admin.end();
  }
  const { rows } = await at.owner.query<{ name: string }>(
    `SELECT name FROM archives WHERE state = 'written' ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}
