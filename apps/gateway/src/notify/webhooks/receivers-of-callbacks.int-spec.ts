// Promise: a merchant whose receipts name ever new origins does not slow the planning of others' deliveries.
import type pg from 'pg';
import { createTestDatabase, planOf, recorded, superuserOf, type TestDatabase } from '#database/testing';
import { endpointsOf } from './plan-deliveries.js';

const ORIGINS = 20_000;
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  await client.query(
    `INSERT INTO webhook_endpoints (id, merchant_id, kind, url, events, deleted_at)
     SELECT 'whk_' || n, CASE WHEN n % 100 = 0 THEN 'mer_' || n ELSE 'mer_1' END,
            (CASE WHEN n % 50 = 0 THEN 'endpoint' ELSE 'callback' END)::webhook_kind, 'https://h' || n || '.example', '{*}',
            CASE WHEN n % 100 = 50 THEN now() END
       FROM generate_series(1, $1::int) AS n`,
    [ORIGINS],
  );
  await client.query('ANALYZE webhook_endpoints');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

test('receivers of a batch are read without those of callbacks, and without those that were deleted', async () => {
  const statement = recorded((prisma) => endpointsOf(prisma, ['mer_1', 'mer_100', 'mer_200']));
  await client.query('SET ROLE fiscal_app');
  const { largest, wholeTables } = await planOf(client, statement);
  await client.query('RESET ROLE');
  expect({ largest, wholeTables }).toEqual({ largest: 2, wholeTables: [] });
});
