// Promise: the list of what waits for a person reads what is on its page: neither what others have nor what of the merchant is on its way.
import type pg from 'pg';
import { createTestDatabase, planOf, recorded, superuserOf, type TestDatabase } from '#database/testing';
import type { ReceiptUrls } from '../receipts/receipt-url.js';
import { ListUnknown } from './list-unknown.js';

const ROWS = 5_000;
const OWN = 3;
let database: TestDatabase;
/** The superuser, which may take each role. */
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  // Their merchant and branch are not there.
  await client.query('SET session_replication_role = replica');
  await client.query(`INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed)
    SELECT 'dev_' || n, 'mer_' || n, 'brn_1', 'Till', 'http://127.0.0.1:1', '' FROM generate_series(1, 2) AS n`);
  await insertReceipts(1, 'unknown', ROWS);
  await insertReceipts(2, 'unknown', OWN);
  await insertReceipts(2, 'accepted', ROWS);
  await client.query(`INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at, closed_at)
    SELECT replace(id, 'rcp', 'att'), id, device_id, 1, 'unknown', '{}', '', 'r', created_at, created_at FROM receipts WHERE status = 'unknown'`);
  await client.query('SET session_replication_role = origin');
  await client.query('VACUUM ANALYZE');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

/** One a minute of each merchant, at the same times. */
async function insertReceipts(merchant: number, status: string, count: number): Promise<void> {
  await client.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id, document, total_tiyin,
                           vat_total_tiyin, created_at)
     SELECT first_id_at('rcp', s.at) || $1::int || left($2, 1) || lpad(n::text, 14, '0'), 'mer_' || $1::int, 'cli_1', 'receipts', '', 'sale',
            $2::receipt_status, n, 'dev_' || $1::int, 'brn_1', '{}', 100, 0, s.at
       FROM generate_series(1, $3::int) AS n, LATERAL (SELECT '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute' AS at) AS s`,
    [merchant, status, count],
  );
}

const pageOf = (merchantId: string): ReturnType<typeof recorded> =>
  recorded((prisma) => new ListUnknown(prisma, {} as unknown as ReceiptUrls).execute(merchantId, {}));

test.each([
  ['fiscal_app', 'mer_2'],
  ['fiscal_app_tenant', 'mer_2'],
  ['fiscal_app_tenant', 'mer_9'],
])('as %s, of %s', async (role, merchantId) => {
  await client.query(`SELECT set_config('role', $1, false), set_config('fgw.merchant_id', $2, false)`, [
    role,
    merchantId,
  ]);
  const { largest } = await planOf(client, pageOf(merchantId));
  await client.query('RESET ROLE');
  expect(largest).toBeLessThanOrEqual(22);
});
