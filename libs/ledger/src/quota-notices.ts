import { Prisma } from '#database';
import { newId } from '#runtime';
import { insertEvents } from './events.js';
import type { Statements } from './statements.js';

/** Shares of a quota at which the merchant is notified. */
const ANNOUNCED_PERCENT = [80, 100] as const;

/** A quota of a merchant, and how much of it is used. */
export interface QuotaUse {
  merchantId: string;
  quota: string;
  limit: number;
  used: number;
}

/** Today, where the merchants are; in SQL. */
export const TASHKENT_DAY = Prisma.raw(`(now() AT TIME ZONE 'Asia/Tashkent')::date`);

/**
 * `quota.warning` at 80 %, `quota.reached` at 100 %, each once a day, however many gateways see it: who writes the notice writes the
 * event.
 */
export async function announceQuotas(database: Statements, uses: readonly QuotaUse[]): Promise<void> {
  const rows = uses.flatMap(({ merchantId, quota, limit, used }) =>
    ANNOUNCED_PERCENT.filter((percent) => used * 100 >= limit * percent).map((percent) => ({
      ...{ event_id: newId('evt'), merchant_id: merchantId, quota, percent },
      type: percent === 100 ? 'quota.reached' : 'quota.warning',
      data: { quota, limit, used, percent },
    })),
  );
  if (rows.length === 0) return;
  const events = insertEvents(Prisma.sql`
      SELECT r.event_id, r.merchant_id, r.type, r.merchant_id, r.data
        FROM reached r JOIN fresh f USING (merchant_id, quota, percent)`);
  await database.$executeRaw`
    WITH reached AS (
      SELECT * FROM json_to_recordset(${JSON.stringify(rows)}::json) AS r(
        event_id text, merchant_id text, quota text, percent smallint, type text, data jsonb)
    ), fresh AS (
      INSERT INTO quota_notices (merchant_id, quota, day, percent)
      SELECT merchant_id, quota, ${TASHKENT_DAY}, percent FROM reached ORDER BY merchant_id, quota, percent
      ON CONFLICT DO NOTHING RETURNING merchant_id, quota, percent
    ) ${events}`;
}
