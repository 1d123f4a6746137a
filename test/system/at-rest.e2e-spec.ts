// Promise: programs without work ask the database little.
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from './database.js';
import { startSystem, type TestSystem } from './system.js';

/** Transactions of a gateway and a relay together. Each of their loops by itself would be 24. */
const MOST_A_SECOND = 15;
const MEASURED_MS = 15_000;
/** A session that falls idle publishes what it has counted ten seconds later. */
const PUBLISHED_MS = 12_000;
let system: TestSystem;

beforeAll(async () => {
  system = await startSystem({ registers: 1 });
});
afterAll(() => system?.stop());

async function transactions(): Promise<number> {
  const [row] = await sql<{ count: number }>(
    system.database,
    'SELECT xact_commit::float8 AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return row?.count ?? Number.NaN;
}

test('a gateway and a relay at rest', async () => {
  const sold = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'wait=30' });
  expect(sold.status).toBe(201);
  await delay(PUBLISHED_MS);
  const [before, begunMs] = [await transactions(), performance.now()];
  await delay(MEASURED_MS);
  const [after, endedMs] = [await transactions(), performance.now()];
  const perSecond = ((after - before) * 1_000) / (endedMs - begunMs);
  expect(perSecond).toBeGreaterThan(1);
  expect(perSecond).toBeLessThan(MOST_A_SECOND);
});
