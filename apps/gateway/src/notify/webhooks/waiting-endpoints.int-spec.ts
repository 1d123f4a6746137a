// Promise: the endpoints of a merchant that has its share of the places are passed over without being read, and no other merchant is forgotten.
import type pg from 'pg';
import { createTestDatabase, planOf, superuserOf, testClient, type TestDatabase } from '#database/testing';
import { FairSlots } from '#runtime';
import { longestWaiting, WaitingEndpoints, waitingInTurn } from './waiting-endpoints.js';

const MANY = 20_000;
/** Of each of the others one is due. */
const OTHERS = 300;

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  await client.query(
    `INSERT INTO webhook_endpoints (id, merchant_id, url, events, due_at)
     SELECT 'whk_many_' || n, 'mer_0150_many', 'https://a.example/' || n, '{}'::text[], now() - interval '1 hour' FROM generate_series(1, $1::int4) n
     UNION ALL
     SELECT 'whk_' || n, 'mer_' || lpad(n::text, 4, '0'), 'https://a.example/', '{}'::text[], now() - interval '1 minute' FROM generate_series(1, $2::int4) n`,
    [MANY, OTHERS],
  );
  await client.query('VACUUM ANALYZE webhook_endpoints');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

test('no statement reads what one merchant has waiting', async () => {
  for (const statement of [longestWaiting(false), waitingInTurn('', false), waitingInTurn('mer_0149', false)]) {
    const { wholeTables, largest } = await planOf(client, statement);
    expect(wholeTables).toEqual([]);
    expect(largest).toBeLessThan(1_000);
  }
});

test('a merchant with many has its share, and all others have their turn', async () => {
  const prisma = testClient(database.url, 1);
  try {
    const waiting = new WaitingEndpoints(prisma, new FairSlots({ total: 32, perKey: 16, reserved: 8 }), false);
    const served = new Set<string>();
    let ofMany = 0;
    for (let round = 0; round < 40; round += 1) {
      const { taken, othersWait } = await waiting.take();
      expect(othersWait).toBe(true);
      for (const [id, release] of taken) {
        if (id.startsWith('whk_many')) {
          // Slow: it keeps its places.
          ofMany += 1;
          continue;
        }
        served.add(id);
        release();
      }
      await client.query(`UPDATE webhook_endpoints SET due_at = NULL WHERE id = ANY ($1)`, [[...served]]);
    }
    expect([ofMany, served.size]).toEqual([16, OTHERS]);
  } finally {
    await prisma.$disconnect();
  }
});
