// Promise: a pool's sessions are what its statements rely on, whatever else its program asks of them.
import { Prisma } from './generated/client.js';
import { ReportDatabase, SalesDatabase } from './databases.js';
import { createTestDatabase, type TestDatabase } from './testing/index.js';

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
