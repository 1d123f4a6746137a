import { Prisma } from '#database';
import type { Statements } from '../statements.js';

type Reading = Pick<Statements, '$queryRaw'>;

/** Of what stays of a receipt `k`: the receipt has not been brought back. */
const IS_AWAY = Prisma.sql`NOT EXISTS (SELECT FROM receipts r WHERE r.id = k.id)`;

/**
 * The archive that has a receipt of this merchant; null: it is here, or there never was one.
 * @param merchantId null: of any merchant
 */
export async function findArchiveOf(database: Reading, merchantId: string | null, id: string): Promise<string | null> {
  const mine = merchantId === null ? Prisma.empty : Prisma.sql`AND k.merchant_id = ${merchantId}`;
  const [row] = await database.$queryRaw<{ archive: string }[]>`
    SELECT k.archive FROM archived_receipts k WHERE k.id = ${id} ${mine} AND ${IS_AWAY}`;
  return row?.archive ?? null;
}

/** The same of the receipt that has this external id. */
export async function findArchiveOfExternalId(
  database: Reading,
  merchantId: string,
  externalId: string,
): Promise<string | null> {
  const [row] = await database.$queryRaw<{ archive: string }[]>`
    SELECT k.archive FROM external_id_claims c JOIN archived_receipts k ON k.id = c.receipt_id
     WHERE c.merchant_id = ${merchantId} AND c.external_id = ${externalId} AND k.merchant_id = ${merchantId} AND ${IS_AWAY}`;
  return row?.archive ?? null;
}

/** When the newest receipt was registered, or made, that is in an archive; null: all that the merchant ever had is here. */
export async function archivedUntil(database: Reading, merchantId: string): Promise<Date | null> {
  const [row] = await database.$queryRaw<{ last_at: Date }[]>`
    SELECT k.last_at FROM archived_receipts k
     WHERE k.merchant_id = ${merchantId} AND ${IS_AWAY} ORDER BY k.last_at DESC LIMIT 1`;
  return row?.last_at ?? null;
}

/** As SQL: the archive that has a refund of this sale which has not been brought back; null: all that there were are here. */
export function archiveOfRefund(saleId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    (SELECT k.archive FROM archived_receipts k WHERE k.refund_of = ${saleId} AND ${IS_AWAY} LIMIT 1)`;
}
