// Promise: every test file works on a database of its own, migrated, through the same rights as the programs.
import pg from 'pg';

import { createTestDatabase, type TestDatabase } from './test-database.js';

let databases: TestDatabase[] = [];

afterEach(async () => {
  await Promise.all(databases.map((database) => database.drop()));
  databases = [];
});

async function create(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  databases.push(database);
  return database;
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result: pg.QueryResult<Record<string, unknown>> = await client.query(sql);
    return result.rows;
  } finally {
    await client.end();
  }
}

test('is migrated and speaks UTF-8', async () => {
  const { url } = await create();
  expect(await ask(url, 'SELECT count(*) >= 0 AS ok FROM _prisma_migrations')).toEqual([{ ok: true }]);
  expect(await ask(url, 'SELECT count(*) > 0 AS ok FROM bullmq.migration')).toEqual([{ ok: true }]);
  expect(await ask(url, "SELECT lower('ЧОЙ') AS text, current_setting('server_encoding') AS encoding")).toEqual([
    { text: 'чой', encoding: 'UTF8' },
  ]);
});

test('the programs may use the queue but change no schema and no history of migrations', async () => {
  const { url } = await create();
  await expect(ask(url, 'CREATE TABLE mine (id int)')).rejects.toThrow('permission denied');
  await expect(ask(url, 'DELETE FROM _prisma_migrations')).rejects.toThrow('permission denied');
  await expect(ask(url, 'DROP SCHEMA bullmq CASCADE')).rejects.toThrow('must be owner');
});

test('two databases do not see each other', async () => {
  const [first, second] = [await create(), await create()];
  await ask(first.ownerUrl, 'CREATE TABLE mine (id int)');
  expect(await ask(second.ownerUrl, "SELECT to_regclass('mine') AS found")).toEqual([{ found: null }]);
});
