// Promise: where one merchant has all payments, a page of those in one state reads what is in hand, or a bounded number of those that ended.
import type pg from 'pg';
import { createTestDatabase, planOf, superuserOf, type TestDatabase } from '#database/testing';
import { PAYMENT_STATES } from '#payments';
import { paymentSearch } from './search-payments.js';

const PAYMENTS = 30_000;
/** Of them without an end: one in three hundred. */
const UNDER_WAY = 100;
const WALKED = 5_000;
const ENDED = new Set(['captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled']);
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  await client.query(`
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '\\x00')`);
  await client.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, created_at)
     SELECT 'pay_01kz' || lpad(n::text, 22, '0'), 'mer_1', 'pac_1', 'rcp_' || n, 'payme', 'inbound',
            (CASE WHEN n % 600 = 7 THEN 'pending' WHEN n % 600 = 307 THEN 'authorize_unknown' ELSE 'captured' END)::payment_state, n, now(),
            '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute'
       FROM generate_series(1, $1::int) AS n`,
    [PAYMENTS],
  );
  await client.query('VACUUM ANALYZE payments');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

describe.each(['fiscal_app_tenant', 'fiscal_app'])('as %s', (role) => {
  test.each(PAYMENT_STATES)('%s', async (status) => {
    await client.query("SELECT set_config('role', $1, false), set_config('fgw.merchant_id', 'mer_1', false)", [role]);
    const { wholeTables, largest } = await planOf(
      client,
      paymentSearch('mer_1', { status }, { limit: 100, afterId: null }),
    );
    expect(wholeTables).toEqual([]);
    expect(largest).toBeLessThanOrEqual(ENDED.has(status) ? WALKED : UNDER_WAY);
  });
});
