// Promise: the health screen counts each row of a table once, whether it has partitions or not, and after any ANALYZE.
import pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, testClient, type TestDatabase } from '#database/testing';
import { PlatformHealthRepository } from './platform-health.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let owner: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url);
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await prisma?.$disconnect();
  await owner?.end();
  await database?.drop();
});

test('rows of a table with partitions are counted once, also after ANALYZE of the table above them', async () => {
  await owner.query(`
    INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome)
    SELECT 'dlv_01' || lpad(n::text, 24, '0'), 1, 1, 'refused' FROM generate_series(1, 20000) AS n`);
  await owner.query('ANALYZE webhook_attempts');
  await owner.query(`CREATE TABLE whole AS SELECT repeat('x', 900) AS text FROM generate_series(1, 5000)`);
  await owner.query('ANALYZE whole');
  const tables = await new PlatformHealthRepository(prisma).tables();
  expect(tables.find(({ name }) => name === 'webhook_attempts')).toMatchObject({ rows: 20_000 });
  expect(tables.find(({ name }) => name === 'whole')).toMatchObject({ rows: 5_000, partitions: 0 });
});
