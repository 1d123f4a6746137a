// Promise: a partition that cannot be archived or dropped keeps no other one in the database, nor the months to come from being made, and a file
// that cannot be read costs no row.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Prisma } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { archiveInFolder, readPartitions, type RunStatement } from '#ledger';
import { createLogger } from '#runtime';
import { rowsIn } from '../../../../libs/ledger/src/testing/archive-places.js';
import { PARTITION_OPTIONS, PartitionKeeper } from './partition-keeper.js';

const HELD = 'webhook_attempts_202601';
const logger = createLogger('test', 'silent');
let database: TestDatabase;
let owner: pg.Client;
let folder: string;

const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await owner.query(text, [...values])).rows as Row[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'archive-'));
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  for (const name of [HELD, 'webhook_attempts_202602'])
    await owner.query(`
      CREATE TABLE parts.${name} (LIKE webhook_attempts INCLUDING DEFAULTS);
      INSERT INTO parts.${name} (delivery_id, number, duration_ms, outcome)
      SELECT 'dlv_${name}' || lpad(n::text, 4, '0'), 1, 1, 'refused' FROM generate_series(1, 40) AS n;
      INSERT INTO released_partitions (name, of_table, released_at) VALUES ('${name}', 'webhook_attempts', now() - interval '8 days')`);
});
afterEach(async () => {
  await owner?.end();
  await database?.drop();
  await rm(folder, { recursive: true });
});

const keeper = (): PartitionKeeper =>
  new PartitionKeeper(
    database.url,
    {
      ...PARTITION_OPTIONS,
      ...{
        pauseMs: 0,
        tries: 2,
        retryMs: 5,
        keepDays: 30,
        keepEventsDays: 30,
        keepCallsDays: 30,
        keepLeavingDays: { attempts: 90, receipts: 396 },
        maxRows: 30,
        rowsAtOnce: 7,
      },
      archive: archiveInFolder(folder),
    },
    logger,
  );

/** Archived, and not dropped, as another session reads it. @returns the first of its archives */
async function archivedWhileRead(): Promise<string> {
  const reader = new pg.Client({ connectionString: database.ownerUrl });
  await reader.connect();
  await reader.query(`BEGIN; SELECT FROM parts.${HELD} LIMIT 1`);
  try {
    await expect(keeper().run()).rejects.toThrow(/lock timeout/);
  } finally {
    await reader.end();
  }
  const { rows } = await owner.query<{ name: string }>(
    'SELECT name FROM archives WHERE released = $1 ORDER BY last_id',
    [HELD],
  );
  return String(rows[0]?.name);
}

async function waiting(): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>('SELECT name FROM released_partitions WHERE dropped_at IS NULL');
  return rows.map(({ name }) => name);
}

test('the others leave, and the round counts as one that made and took off what it was to', async () => {
  await owner.query(`UPDATE partition_rounds SET ended_at = now() - interval '3 days'`);
  await archivedWhileRead();
  expect(await waiting()).toEqual([HELD]);
  const { keptSeconds, waitingSeconds } = await readPartitions(run);
  expect(keptSeconds).toBeLessThan(60);
  expect(Math.round(waitingSeconds / 86_400)).toBe(8);
  await keeper().run();
  expect(await readPartitions(run)).toMatchObject({ waiting: 0, waitingSeconds: 0 });
});

test.each<[string, (path: string) => Promise<unknown>]>([
  ['is none', (path) => writeFile(path, '{')],
  ['cannot be read', (path) => rm(path).then(() => mkdir(path))],
])('a manifest that %s is as one of a changed file: the partition is archived anew', async (_what, spoil) => {
  const { rows: before } = await owner.query(`SELECT to_jsonb(a)::text AS line FROM parts.${HELD} a`);
  await spoil(join(folder, `${await archivedWhileRead()}.json`));
  await keeper().run();
  expect(await waiting()).toEqual([HELD]);
  await keeper().run();
  expect(await waiting()).toEqual([]);
  const { rows } = await owner.query<{ name: string }>(
    `SELECT name FROM archives WHERE released = $1 AND state = 'removed'`,
    [HELD],
  );
  const lines: string[] = [];
  for (const { name } of rows) for await (const group of rowsIn(archiveInFolder(folder), name, 7)) lines.push(...group);
  expect(rows).toHaveLength(2);
  expect(lines.sort()).toEqual(before.map(({ line }) => String(line)).sort());
});
