// Promise: tests of "the database is away" meet a database that is really away and really comes back.
import pg from 'pg';
import { isPortFree } from '../../../../scripts/lib/processes.mjs';
import { startOwnServer, type OwnServer } from './own-server.js';

let server: OwnServer;

beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server.remove());

async function countMigrations(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ n: number }>('SELECT count(*)::int AS n FROM _prisma_migrations');
    return rows[0]?.n ?? 0;
  } finally {
    await client.end();
  }
}

test('survives kill -9 and answers on the same port with the same data', async () => {
  const { url } = await server.migratedDatabase();
  expect(await countMigrations(url)).toBeGreaterThan(0);
  await server.kill();
  await expect(countMigrations(url)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
  await server.restart();
  expect(await countMigrations(url)).toBeGreaterThan(0);
});

test('has given its port back when the kill returns, also where a backend is slow to end', async () => {
  const { url } = await server.migratedDatabase();
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined); // it is killed
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  process.kill(rows[0]!.pid, 'SIGSTOP');
  await server.kill('SIGQUIT');
  expect(await isPortFree(Number(new URL(url).port))).toBe(true);
  await server.restart();
  expect(await countMigrations(url)).toBeGreaterThan(0);
});
