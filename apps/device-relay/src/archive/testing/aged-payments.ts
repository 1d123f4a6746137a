import { firstIdAt } from '#runtime';
import { at } from './aged-attempts.js';
import { insertReceipt } from './aged-receipts.js';

const DAY_MS = 86_400_000;
const DAYS_AGO = 3_010;
let made = 0;

export interface OldPayment {
  state?: string;
  /** Of its sales, each of which has one refund. */
  sales?: readonly string[];
  daysAgo?: number;
}

/** A merchant's account at a provider, and of what hangs on payments nothing. */
export async function openAccount(): Promise<void> {
  await at.owner.query(`
    DELETE FROM payments; DELETE FROM payment_refunds; DELETE FROM provider_transactions; DELETE FROM extra_charges;
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    VALUES ('pac_1', 'mer_1', 'payme', 'Payme', '{}', '\\x00') ON CONFLICT DO NOTHING`);
}

/** A receipt of a payment, and a refund of it. @returns their ids */
export async function insertPaidSale(daysAgo = DAYS_AGO): Promise<string[]> {
  const sale = await insertReceipt({ daysAgo });
  return [sale, await insertReceipt({ refundOf: sale, daysAgo })];
}

/** A payment of eight years ago that has ended, with two transactions and a part that went back. @returns its id */
export async function insertPayment({
  state = 'captured',
  sales = [],
  daysAgo = DAYS_AGO,
}: OldPayment): Promise<string> {
  made += 1;
  const then = new Date(Date.now() - daysAgo * DAY_MS + made);
  const id = `${firstIdAt('pay', then)}${String(made).padStart(16, '0')}`;
  const [first, ...further] = sales;
  const { rows } = await at.owner.query<{ refund: string }>(
    `SELECT id AS refund FROM receipts WHERE refund_of = $1 ORDER BY id LIMIT 1`,
    [first],
  );
  await at.owner.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, further_receipts, provider, flow, state, amount_tiyin, refunded_tiyin,
                           provider_ref, evidence, expires_at, created_at, captured_at, state_since, updated_at)
     VALUES ($1, 'mer_1', 'pac_1', $2, $3, 'payme', 'inbound', $4, 100, 1, $5, '{"phone": "+998901234567"}', $6, $6, $6, $6, $6)`,
    [id, first, further, state, `ref-${made}`, then],
  );
  await at.owner.query(
    `INSERT INTO provider_transactions (account_id, id, payment_id, state, is_live, amount_tiyin, provider_time_ms, create_time_ms)
     VALUES ('pac_1', $1 || '/1', $1, -1, false, 100, 1, 1), ('pac_1', $1 || '/2', $1, 2, true, 100, 2, 2)`,
    [id],
  );
  await at.owner.query(
    `INSERT INTO payment_refunds (payment_id, receipt_id, amount_tiyin, state, reason, created_at, finished_at)
     VALUES ($1, $2, 1, 'done', 'returned', $3, $3)`,
    [id, rows[0]?.refund ?? null, then],
  );
  await at.owner.query(
    `INSERT INTO extra_charges (payment_id, account_id, provider_ref, amount_tiyin, state, reason, created_at, finished_at)
     VALUES ($1, 'pac_1', $2, 100, 'refunded', 'charged twice', $3, $3)`,
    [id, `extra-${made}`, then],
  );
  await at.owner.query(
    `ALTER TABLE receipts DISABLE TRIGGER USER;
     UPDATE receipts SET payment_id = '${id}' WHERE id = ANY (ARRAY['${sales.join("', '")}']);
     ALTER TABLE receipts ENABLE TRIGGER USER`,
  );
  return id;
}

/** Every row of all payments that are here, by its table. */
export async function paymentRows(): Promise<unknown[]> {
  const { rows } = await at.owner.query(`
    SELECT 'payment' AS of, to_jsonb(p)::text AS row FROM payments p
    UNION ALL SELECT 'refund', to_jsonb(f)::text FROM payment_refunds f
    UNION ALL SELECT 'transaction', to_jsonb(t)::text FROM provider_transactions t
    UNION ALL SELECT 'charge', to_jsonb(c)::text FROM extra_charges c ORDER BY 1, 2`);
  return rows;
}

export async function paymentIds(): Promise<string[]> {
  return (await at.owner.query<{ id: string }>('SELECT id FROM payments ORDER BY id')).rows.map(({ id }) => id);
}
