import { Prisma } from '#database';
import { tableOfArchive } from '../archive/archive-files.js';
import type { Statements } from '../statements.js';
import { findArchiveOf, isWithin } from './archived-receipts.js';

type Reading = Pick<Statements, '$queryRaw'>;

/** Of what stays of a payment `k`: the payment has not been brought back. By its key, as nearly all are away. */
const IS_AWAY = Prisma.sql`NOT EXISTS (SELECT FROM payments p WHERE p.id = k.id OFFSET 0)`;

/** The archive that has a payment of this merchant; null: it is here, or there never was one. */
export async function findArchiveOfPayment(database: Reading, merchantId: string, id: string): Promise<string | null> {
  const [row] = await database.$queryRaw<{ archive: string }[]>`
    SELECT k.archive FROM archived_payments k WHERE k.id = ${id} AND k.merchant_id = ${merchantId} AND ${IS_AWAY}`;
  return row?.archive ?? null;
}

/** The same of the payment that this receipt is of, which has left with it. */
export async function findArchiveOfPaid(
  database: Reading,
  merchantId: string,
  receiptId: string,
): Promise<string | null> {
  const archive = await findArchiveOf(database, merchantId, receiptId);
  return archive !== null && tableOfArchive(archive) === 'payments' ? archive : null;
}

/** The same of the payment that has this id at its provider. */
export async function findArchiveOfProviderRef(
  database: Reading,
  merchantId: string,
  providerRef: string,
): Promise<string | null> {
  const [row] = await database.$queryRaw<{ archive: string }[]>`
    SELECT k.archive FROM provider_accounts a JOIN archived_payments k ON k.account_id = a.id AND k.provider_ref = ${providerRef}
     WHERE a.merchant_id = ${merchantId} AND k.merchant_id = ${merchantId} AND ${IS_AWAY} LIMIT 1`;
  return row?.archive ?? null;
}

/** A time, from within it to without it; null: without a bound. */
export interface PaymentSpan {
  of: 'merchant_id' | 'account_id';
  id: string;
  /** When they were made, or their money was taken. */
  by: 'created_at' | 'captured_at';
  from: Date | null;
  to: Date | null;
}

/** When the newest payment of a span was made, or its money taken, that is in an archive; null: all of the span are here. */
export async function archivedPaymentsWithin(
  database: Reading,
  { of, id, by, from, to }: PaymentSpan,
): Promise<Date | null> {
  const [owner, time] = [Prisma.raw(`k.${of}`), Prisma.raw(`k.${by}`)];
  const [row] = await database.$queryRaw<{ at: Date }[]>`
    SELECT ${time} AS at FROM archived_payments k
     WHERE ${owner} = ${id} AND ${isWithin(time, { from, to })} AND ${IS_AWAY} ORDER BY ${time} DESC LIMIT 1`;
  return row?.at ?? null;
}
