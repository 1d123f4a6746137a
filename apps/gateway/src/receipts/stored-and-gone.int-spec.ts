// Promise: a caller whose receipt was lost by the database between writing and reading is asked to repeat, and the repetition is accepted.
import 'reflect-metadata';
import pg from 'pg';
import { newId } from '#runtime';
import { SalesFixture } from './testing/sales-fixture.js';

let fixture: SalesFixture;
let admin: pg.Client;

beforeAll(async () => {
  fixture = await SalesFixture.start();
  admin = new pg.Client({ connectionString: fixture.gateway.database.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  await fixture?.stop();
});

/** As a promoted standby that never had it. */
async function lose(key: string): Promise<void> {
  for (let lost: number | null = 0; lost === 0;) {
    const { rowCount } = await admin.query('DELETE FROM receipts WHERE idempotency_key = $1', [key]);
    lost = rowCount;
  }
}

test('503 outcome_unclear with Retry-After for the one who waits, then 202 under the same key', async () => {
  const key = newId('evt');
  const sale = fixture.saleOf([fixture.item('bread', 1_000, 1)]);
  const ask = (wait: string): ReturnType<SalesFixture['ask']> =>
    fixture.ask('POST', '/v1/receipts', sale, { headers: { 'idempotency-key': key, prefer: wait } });
  const waiting = ask('wait=3');
  await lose(key);
  const unclear = await waiting;
  expect([unclear.status, unclear.body.code, unclear.body.retryable, unclear.headers.has('retry-after')]).toEqual([
    ...[503, 'outcome_unclear', true, true],
  ]);
  const again = await ask('respond-async');
  expect(again.status).toBe(202);
});
