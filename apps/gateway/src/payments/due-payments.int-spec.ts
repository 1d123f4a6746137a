// Promise: a merchant whose provider does not answer holds up its own payments, not those of others.
import pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase, testClient } from '#database/testing';
import { newId } from '#runtime';
import { DuePayments } from './due-payments.js';
import { PaymentRepository } from './repository/payment.repository.js';
import type { PaymentTiming } from './payment-settings.js';

const TIMING: PaymentTiming = {
  ...{ callTimeoutMs: 1_000, settleMs: 1_000, leaseSeconds: 600, customerMs: 1_000, holdMarginMs: 1_000 },
  ...{ pollEveryMs: 1_000, answerMs: 1_000 },
};
let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 2);
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});
afterEach(() => client.query('DELETE FROM payments'));
afterAll(async () => {
  await client?.end();
  await prisma?.$disconnect();
  await database?.drop();
});

const due = (): DuePayments => new DuePayments(new PaymentRepository(prisma, TIMING, {} as never));

/** Payments of a merchant that are due; the first of all has waited longest. */
async function leave(merchant: string, count: number): Promise<void> {
  await client.query(
    `INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
     VALUES ($1, $1, 'click', $1, '{}', '\\x00') ON CONFLICT DO NOTHING`,
    [merchant],
  );
  await client.query(
    `WITH sold AS (
       INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                             total_tiyin, vat_total_tiyin)
       SELECT $3 || n, $1, 'cli_1', 'receipts', '', 'sale', 'accepted', n, $1, '{}', 1, 0 FROM generate_series(1, $2::int) AS n
       RETURNING id)
     INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, due_at)
     SELECT $1 || '_' || id, $1, $1, id, 'click', 'charge', 'created', 1, now(), now() FROM sold`,
    // The whole id: those of one millisecond differ in their last characters.
    [merchant, count, `${newId('rcp')}_`],
  );
}

function countsOf(ids: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const id of ids) {
    const merchant = id.split('_rcp', 1)[0] ?? '';
    counts[merchant] = (counts[merchant] ?? 0) + 1;
  }
  return counts;
}

test('one merchant with payments without end: twelve places; others that come later are served at once', async () => {
  await leave('flood', 40);
  const payments = due();
  const first = await payments.claim('lse_1');
  expect([countsOf(first.ids), first.isFull]).toEqual([{ flood: 12 }, true]);
  await leave('shop_1', 3);
  await leave('shop_2', 1);
  const second = await payments.claim('lse_2');
  expect(countsOf(second.ids)).toEqual({ shop_1: 1, shop_2: 1 });
  for (const id of second.ids) payments.release(id);
  expect(countsOf((await payments.claim('lse_3')).ids)).toEqual({ shop_1: 1 });
});

test('without a crowd nothing is held back', async () => {
  await leave('shop_1', 5);
  await leave('shop_2', 5);
  const { ids, isFull } = await due().claim('lse_1');
  expect([countsOf(ids), isFull]).toEqual([{ shop_1: 5, shop_2: 5 }, false]);
});

test('the last places are one each for merchants that have none', async () => {
  for (const merchant of ['shop_1', 'shop_2']) await leave(merchant, 6);
  for (const merchant of ['shop_3', 'shop_4', 'shop_5', 'shop_6', 'shop_7']) await leave(merchant, 2);
  const counts = countsOf((await due().claim('lse_1')).ids);
  expect(counts).toEqual({ shop_1: 6, shop_2: 6, shop_3: 1, shop_4: 1, shop_5: 1, shop_6: 1 });
});
