import pg from 'pg';
import type { TestSystem } from '../test/system/system.js';

/** One receipt of so many was paid online. */
const OF_RECEIPTS = 3;

/**
 * Payments of receipts that are older than the database keeps them at the least: each captured, compared and at rest, with one transaction of its provider.
 * Receipts of that age without one are gone, so that payments alone can leave.
 */
export async function fillPayments({ database, merchant }: TestSystem, olderThanDays: number): Promise<void> {
  const client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    // The rows are legal; checking each of them again would be most of the time.
    await client.query('SET session_replication_role = replica; SET synchronous_commit = off');
    await client.query(
      `INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
       VALUES ('acc_bench', $1, 'payme', 'bench', '{}', '')`,
      [merchant.merchantId],
    );
    await client.query(FILL, [olderThanDays, OF_RECEIPTS]);
    await client.query(
      'DELETE FROM receipts WHERE payment_id IS NULL AND created_at < now() - make_interval(days => $1::int)',
      [olderThanDays],
    );
    await client.query('VACUUM (ANALYZE) receipts, payments, provider_transactions');
    await client.query('CHECKPOINT');
  } finally {
    await client.end();
  }
}

const FILL = `
  WITH paid AS (
    UPDATE receipts SET payment_id = 'pay_' || substr(id, 5)
     WHERE status = 'registered' AND payment_id IS NULL AND lane_place % $2::int = 0 AND created_at < now() - make_interval(days => $1::int + 1)
    RETURNING id, payment_id, merchant_id, total_tiyin, created_at
  ), made AS (
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, provider_ref, evidence, link, compared_at,
                          expires_at, created_at, captured_at, state_since, updated_at)
    SELECT payment_id, merchant_id, 'acc_bench', id, 'payme', 'inbound', 'captured', total_tiyin, payment_id, '{"rrn": "123456789012"}', 'attached',
           created_at + interval '1 day', created_at + interval '1 hour', created_at, created_at, created_at, created_at + interval '1 day'
      FROM paid
    RETURNING id, account_id, amount_tiyin, created_at
  )
  INSERT INTO provider_transactions (account_id, id, payment_id, state, is_live, amount_tiyin, provider_time_ms, create_time_ms, perform_time_ms)
  SELECT account_id, id, id, 2, true, amount_tiyin, ms.at, ms.at, ms.at
    FROM made, LATERAL (SELECT (extract(epoch FROM created_at) * 1000)::bigint AS at) ms`;
