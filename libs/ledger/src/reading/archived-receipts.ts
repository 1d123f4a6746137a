import { Prisma } from '#database';
import type { Statements } from '../statements.js';

type Reading = Pick<Statements, '$queryRaw'>;

/** Of what stays of a receipt `k`: the receipt has not been brought back. By its key, as nearly all are away: as a join all of them would be. */
export const IS_AWAY = Prisma.sql`NOT EXISTS (SELECT FROM receipts r WHERE r.id = k.id OFFSET 0)`;

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

/** A time, from within it to without it; null: without a bound. */
export interface Span {
  of: 'created_at' | 'registered_at';
  from: Date | null;
  to: Date | null;
}

/** When the newest receipt of a span was made or registered that is in an archive; null: all of the span are here. */
export async function archivedWithin(
  database: Reading,
  merchantId: string,
  { of, from, to }: Span,
): Promise<Date | null> {
  const time = Prisma.raw(`k.${of}`);
  const [row] = await database.$queryRaw<{ at: Date }[]>`
    SELECT ${time} AS at FROM archived_receipts k
     WHERE k.merchant_id = ${merchantId} AND ${isWithin(time, { from, to })} AND ${IS_AWAY} ORDER BY ${time} DESC LIMIT 1`;
  return row?.at ?? null;
}

/** Said only where they are: a bound that may be null is none of an index. */
export function isWithin(time: Prisma.Sql, { from, to }: Pick<Span, 'from' | 'to'>): Prisma.Sql {
  const begin = from === null ? Prisma.sql`${time} IS NOT NULL` : Prisma.sql`${time} >= ${from}::timestamptz`;
  return to === null ? begin : Prisma.sql`${begin} AND ${time} < ${to}::timestamptz`;
}
