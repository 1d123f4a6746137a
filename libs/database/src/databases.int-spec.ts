// Promise: a pool's sessions are what its statements rely on, whatever else its program asks of them.
import { mock } from 'node:test';
import { Prisma } from './generated/client.js';
import { ReportDatabase, SalesDatabase } from './databases.js';
import { createTestDatabase, type TestDatabase } from './testing/index.js';
import { WatchedPool } from './watched-pool.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database?.drop();
});

test.each([
  ['for sales', SalesDatabase, { enable_seqscan: 'off', jit: 'off', statement_timeout: '3s' }],
  [
    'for sums',
    ReportDatabase,
    { max_parallel_workers_per_gather: '0', enable_seqscan: 'on', statement_timeout: '30s' },
  ],
])('%s', async (_for, Pool, settings) => {
  const asked = { url: database.url, poolSize: 1, applicationName: 'test', lockTimeoutMs: 1_000 };
  const pool = new Pool({ ...asked, parameters: { work_mem: '5MB' } });
  try {
    const wanted = { ...settings, work_mem: '5MB' };
    const rows = await pool.queryHot<{ name: string; setting: string }>(Prisma.sql`
      SELECT name, current_setting(name) AS setting FROM unnest(${Object.keys(wanted)}::text[]) AS name`);
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual(wanted);
  } finally {
    await pool.$disconnect();
  }
});

test('a connection that is not needed is there for the next load, and does not stay for ever', async () => {
  const pool = new WatchedPool({
    ...{ url: database.url, applicationName: 'test', statementTimeoutMs: 1_000 },
    ...{ size: 2, maxWaiting: 10 },
  });
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    await Promise.all([pool.query('SELECT pg_sleep(0.01)'), pool.query('SELECT pg_sleep(0.01)')]);
    mock.timers.tick(100_000);
    expect(pool.idleCount).toBe(2);
    mock.timers.tick(30_000);
    expect(pool.totalCount).toBe(0);
  } finally {
    mock.timers.reset();
    await pool.end();
  }
});
