import type pg from 'pg';
import { visitedRows } from '#database/testing';
import type { ReceiptFilter } from '../receipt-filter.js';

/** Every kind of receipt, of so many merchants and places alike: one in 51 a refund, one in 101 refused, one in 301 unknown, the newest fifty under way. */
export async function insertReceipts(
  client: pg.Client,
  receipts: number,
  of: { merchants: number; devices: number; branches: number; cashiers: number },
): Promise<void> {
  await client.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, external_id, body_hash, type, status, lane_place, device_id,
                           branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq,
                           registered_at, created_at)
     SELECT first_id_at('rcp', s.at) || lpad(n::text, 16, '0'), 'mer_' || CASE WHEN $2::int = 1 THEN 1 ELSE n % $2::int END, 'cli_1', 'receipts',
            'order-' || n, '', s.type::receipt_type, s.status::receipt_status, n, 'dev_' || n % $3::int,
            'brn_' || n % $4::int, 'csh_' || n % $5::int, '{}', n * 7919 % 1000003, 0,
            CASE WHEN s.status = 'registered' THEN 'UZ' END, CASE WHEN s.status = 'registered' THEN n END,
            CASE WHEN s.status = 'registered' THEN s.at END, s.at
       FROM generate_series(1, $1::int) AS n,
            LATERAL (SELECT CASE WHEN n % 51 = 0 THEN 'refund' ELSE 'sale' END AS type,
                            CASE WHEN n % 101 = 0 THEN 'rejected' WHEN n % 301 = 0 THEN 'unknown'
                                 WHEN n > $1 - 50 THEN 'accepted' ELSE 'registered' END AS status,
                            '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute' AS at) AS s`,
    [receipts, of.merchants, of.devices, of.branches, of.cashiers],
  );
  await client.query('VACUUM ANALYZE receipts, external_id_claims, registration_claims');
}

/** From now on the session reads as the API does for one merchant: row-level security must leave each index its use. */
export async function asTenant(client: pg.Client, merchantId: string): Promise<void> {
  await client.query(
    "SELECT set_config('role', 'fiscal_app_tenant', false), set_config('fgw.merchant_id', $1, false)",
    [merchantId],
  );
}

/** Receipts that have been visited so far, also by this session, which is a superuser's again. */
export async function visitedReceipts(client: pg.Client): Promise<number> {
  await client.query('RESET ROLE; SELECT pg_stat_force_next_flush()');
  return visitedRows(client, ['receipts']);
}

/** Rows of these places, all of one merchant; receipts name them without. */
export async function insertPlaces(
  client: pg.Client,
  merchantId: string,
  places: { devices: readonly string[]; branches: readonly string[]; cashiers: readonly string[] },
): Promise<void> {
  await client.query('BEGIN');
  // Their merchant and branch are not there.
  await client.query('SET LOCAL session_replication_role = replica');
  await client.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed)
     SELECT id, $1, 'brn_of_these', id, 'http://127.0.0.1:1', '' FROM unnest($2::text[]) AS id`,
    [merchantId, places.devices],
  );
  await client.query(
    'INSERT INTO branches (id, merchant_id, code, name) SELECT id, $1, id, id FROM unnest($2::text[]) AS id',
    [merchantId, places.branches],
  );
  await client.query(
    `INSERT INTO cashiers (id, merchant_id, branch_id, code, name) SELECT id, $1, 'brn_of_these', id, id FROM unnest($2::text[]) AS id`,
    [merchantId, places.cashiers],
  );
  await client.query('COMMIT');
}

export const WITHOUT_FILTER: ReceiptFilter = {
  ...{
    merchantId: 'mer_1',
    externalId: null,
    registration: null,
    status: null,
    type: null,
    deviceId: null,
    branchId: null,
    cashierId: null,
  },
  ...{ totalMin: null, totalMax: null, createdFrom: null, createdTo: null, registeredFrom: null, registeredTo: null },
};
