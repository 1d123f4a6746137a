// Promise: programs without work ask the database little.
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from './database.js';
import { startSystem, type TestSystem } from './system.js';

/** Transactions of a gateway and a relay together. Each of their loops by itself would be 24. */
const MOST_A_SECOND = 15;
const MEASURED_MS = 10_000;
/** Sessions publish what they have counted a second later at most. */
const PUBLISHED_MS = 1_200;
let system: TestSystem;

beforeAll(async () => {
  system = await startSystem({ registers: 1 });
});
afterAll(() => system?.stop());

async function transactions(): Promise<number> {
  await delay(PUBLISHED_MS);
  const [row] = await sql<{ count: number }>(
    system.database,
    'SELECT xact_commit::float8 AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return row?.count ?? Number.NaN;
}

test('a gateway and a relay at rest', async () => {
  const sold = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'wait=30' });
  expect(sold.status).toBe(201);
  await delay(5_000);
  const before = await transactions();
  await delay(MEASURED_MS);
  const perSecond = ((await transactions()) - before) / ((MEASURED_MS + PUBLISHED_MS) / 1_000);
  expect(perSecond).toBeGreaterThan(1);
  expect(perSecond).toBeLessThan(MOST_A_SECOND);
});
