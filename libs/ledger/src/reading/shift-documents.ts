import { Prisma, SURPLUS_OPERATION } from '#database';

/** A row of the statement around, with `terminal_id`, `number`, `opened_at` and `closed_at`, and whose it is. */
export interface ShiftRow {
  shift: Prisma.Sql;
  merchantId: Prisma.Sql;
}

/** A constant: the index `receipts_surplus` holds these rows alone. */
const IS_SURPLUS = Prisma.raw(`f.operation = '${SURPLUS_OPERATION}'`);

/**
 * What the merchant's register made in a shift, as rows of `type`, `vat_total_tiyin` and `document`, to be compared with its Z-report. A surplus
 * document stands in no row of its own: the refund that takes it back says its lines, its payment, and by `refundInfo` (in Tashkent's
 * time) where and when it was made. The register has it, whatever becomes of that refund.
 *
 * A shift's times are known to the second. In its first and last second, which may be another's as well, the register's own word decides, where
 * it says it; not between them, as a register may count its shifts in another way there than in its Z-reports.
 */
export function documentsOfShift({ shift, merchantId }: ShiftRow): Prisma.Sql {
  const madeAt = Prisma.sql`(f.document -> 'refundInfo' ->> 'dateTime')::timestamp AT TIME ZONE interval '5 hours'`;
  const within = (time: Prisma.Sql): Prisma.Sql =>
    Prisma.sql`${time} >= ${shift}.opened_at AND ${time} < ${shift}.closed_at + interval '1 second'`;
  return Prisma.sql`
    SELECT r.type, r.vat_total_tiyin, r.document FROM receipts r
     WHERE r.terminal_id = ${shift}.terminal_id AND r.merchant_id = ${merchantId} AND r.status = 'registered'
       AND ${within(Prisma.sql`r.registered_at`)}
       AND (r.registered_at >= ${shift}.opened_at + interval '1 second' AND r.registered_at < ${shift}.closed_at
            OR coalesce(r.shift_number, ${shift}.number) = ${shift}.number)
     UNION ALL
    SELECT 'sale', f.vat_total_tiyin, f.document FROM receipts f
     WHERE f.merchant_id = ${merchantId} AND ${IS_SURPLUS} AND f.document -> 'refundInfo' ->> 'terminalId' = ${shift}.terminal_id
       AND ${within(madeAt)}`;
}
