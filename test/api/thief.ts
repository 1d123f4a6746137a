import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import type { OwnRedis } from '../../libs/queue/src/testing/own-redis.js';

/** What a thief of a copy of a store can read, as one text each. */

/** Every key of Redis by its name and its serialised content. Redis must keep strings as they are (`rdbcompression no`). */
export function copyOfRedis(redis: OwnRedis): Promise<string> {
  return redis.command(async (client) => {
    const parts: string[] = [];
    for await (const keys of client.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
      for (const key of keys) parts.push(key, ((await client.dumpBuffer(key)) ?? Buffer.alloc(0)).toString('utf8'));
    }
    return parts.join('\n');
  });
}

/** @param bin folder of PostgreSQL's own tools, for pg_dump; without them every row of every table as text */
export function copyOfDatabase(url: string, bin: string | null): Promise<string> {
  return bin === null ? rowsOf(url) : Promise.resolve(dumpOf(url, bin));
}

function dumpOf(url: string, bin: string): string {
  const args = ['--dbname', url, '--no-owner'];
  const run = spawnSync(join(bin, 'pg_dump'), args, { encoding: 'utf8', maxBuffer: 2 ** 30 });
  if (run.status !== 0) throw new Error(`pg_dump: ${run.stderr}`);
  return run.stdout;
}

/** Bytes show as hex. */
async function rowsOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const parts: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      for (const { row } of rows) parts.push(row);
    }
    return parts.join('\n');
  } finally {
    await client.end();
  }
}
