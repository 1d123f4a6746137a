import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { TASHKENT_DAY } from '#ledger';
import { readQuotas, type Quotas } from './quotas.js';

/** What was used since the last flush. */
export interface Used {
  receipts: number;
  bytes: number;
}

/** As the database has it, all gateways together. */
export interface Standing {
  merchantId: string;
  quotas: Quotas;
  receiptsToday: number;
  storageBytes: number;
  /** Until the day of Tashkent ends. */
  dayEndsInMs: number;
}

interface StandingRow {
  merchant_id: string;
  quotas: unknown;
  receipts: number;
  storage_bytes: number;
  day_ends_in_ms: number;
}

@Injectable()
export class UsageRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Null: there is no such merchant. */
  async read(merchantId: string): Promise<Standing | null> {
    const [row] = await this.prisma.$queryRaw<StandingRow[]>`
      SELECT m.id AS merchant_id, m.quotas, coalesce(u.receipts, 0)::float8 AS receipts,
             CASE WHEN jsonb_exists(m.quotas, 'storage_bytes') THEN
               (SELECT coalesce(sum(storage_bytes), 0)::float8 FROM merchant_usage WHERE merchant_id = m.id) ELSE 0::float8
             END AS storage_bytes,
             ${UNTIL_MIDNIGHT_MS} AS day_ends_in_ms
        FROM merchants m LEFT JOIN merchant_usage u ON u.merchant_id = m.id AND u.day = ${TASHKENT_DAY}
       WHERE m.id = ${merchantId}`;
    return row ? standingOf(row) : null;
  }

  /** One statement for all merchants, in the order of their ids: two gateways meet no deadlock. */
  async add(used: ReadonlyMap<string, Used>): Promise<Standing[]> {
    const rows = [...used].map(([merchant_id, { receipts, bytes }]) => ({ merchant_id, receipts, bytes }));
    const added = await this.prisma.$queryRaw<StandingRow[]>`
      WITH added AS (
        INSERT INTO merchant_usage AS u (merchant_id, day, receipts, storage_bytes)
        SELECT r.merchant_id, ${TASHKENT_DAY}, r.receipts, r.bytes
          FROM json_to_recordset(${JSON.stringify(rows)}::json) AS r(merchant_id text, receipts bigint, bytes bigint)
         ORDER BY r.merchant_id
        ON CONFLICT (merchant_id, day) DO UPDATE
          SET receipts = u.receipts + excluded.receipts, storage_bytes = u.storage_bytes + excluded.storage_bytes
        RETURNING merchant_id, receipts, storage_bytes
      )
      SELECT a.merchant_id, m.quotas, a.receipts::float8 AS receipts,
             CASE WHEN jsonb_exists(m.quotas, 'storage_bytes') THEN a.storage_bytes::float8 +
               (SELECT coalesce(sum(storage_bytes), 0)::float8 FROM merchant_usage
                 WHERE merchant_id = a.merchant_id AND day <> ${TASHKENT_DAY}) ELSE 0::float8
             END AS storage_bytes,
             ${UNTIL_MIDNIGHT_MS} AS day_ends_in_ms
        FROM added a JOIN merchants m ON m.id = a.merchant_id`;
    return added.map(standingOf);
  }
}

const UNTIL_MIDNIGHT_MS = Prisma.raw(
  `(extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'Asia/Tashkent') + interval '1 day'
     - (now() AT TIME ZONE 'Asia/Tashkent')) * 1000)::float8`,
);

function standingOf(row: StandingRow): Standing {
  return {
    merchantId: row.merchant_id,
    quotas: readQuotas(row.quotas),
    receiptsToday: row.receipts,
    storageBytes: row.storage_bytes,
    dayEndsInMs: row.day_ends_in_ms,
  };
}
