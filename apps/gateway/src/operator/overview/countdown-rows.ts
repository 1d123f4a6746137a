import { Prisma } from '#database';
import { OFD_FUSE_HOURS, SHIFT_MS } from '#fiscal-domain';
import { firstOfdDeadline } from '#ledger';
import type { OverviewCountdown } from './overview-view.js';

export interface CountdownRow {
  kind: OverviewCountdown['kind'];
  merchant_id: string;
  device_id: string;
  device_name: string;
  due_at: Date | null;
  remaining: number;
  most: number;
}

/** A subscription is paid by the month. */
const SUBSCRIPTION_SECONDS = 30 * 86_400;
const FUSE_SECONDS = OFD_FUSE_HOURS * 3_600;
const SHIFT_SECONDS = SHIFT_MS / 1_000;

/**
 * What runs out at registers, what has the smallest share left first.
 * @param merchantId whose; null: of all live merchants
 */
export function countdowns(merchantId: string | null, most: number): Prisma.Sql {
  const whose = merchantId === null ? Prisma.sql`d.transport <> 'emulated'` : Prisma.sql`d.merchant_id = ${merchantId}`;
  return Prisma.sql`
    WITH own AS MATERIALIZED (
      SELECT d.id, d.merchant_id, d.name, d.reading, d.subscription_expires_at,
             least((d.reading ->> 'oldestUnsentAt')::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS}::int4),
                   ${firstOfdDeadline(Prisma.sql`d.id`)}) AS fuse_at
        FROM devices d
       WHERE ${whose} AND d.deleted_at IS NULL AND d.registered_at IS NOT NULL
    ), found AS (
      SELECT 'ofd_deadline' AS kind, id, merchant_id, name, fuse_at AS due_at, extract(epoch FROM fuse_at - now()) AS remaining,
             ${FUSE_SECONDS}::numeric AS most
        FROM own WHERE fuse_at IS NOT NULL
      UNION ALL
      SELECT 'shift_age', id, merchant_id, name, s.due_at, extract(epoch FROM s.due_at - now()), ${SHIFT_SECONDS}::numeric
        FROM own, LATERAL (SELECT (reading -> 'shift' ->> 'openedAt')::timestamptz
                                  + make_interval(secs => ${SHIFT_SECONDS}::int4) AS due_at) s
       WHERE s.due_at IS NOT NULL AND reading -> 'shift' ->> 'closedAt' IS NULL
      UNION ALL
      SELECT 'module_memory', id, merchant_id, name, NULL,
             (reading ->> 'maxUnsentReceipts')::numeric - (reading ->> 'unsentReceipts')::numeric, (reading ->> 'maxUnsentReceipts')::numeric
        FROM own WHERE (reading ->> 'unsentReceipts')::numeric > 0
      UNION ALL
      SELECT 'subscription', id, merchant_id, name, subscription_expires_at, extract(epoch FROM subscription_expires_at - now()),
             ${SUBSCRIPTION_SECONDS}::numeric
        FROM own WHERE subscription_expires_at < now() + make_interval(secs => ${SUBSCRIPTION_SECONDS}::int4)
    )
    SELECT kind, merchant_id, id AS device_id, name AS device_name, due_at, floor(greatest(remaining, 0))::float8 AS remaining, most::float8 AS most
      FROM found ORDER BY remaining / nullif(most, 0), id LIMIT ${most}`;
}

export function countdownView({
  kind,
  device_id,
  device_name,
  due_at,
  remaining,
  most,
}: CountdownRow): OverviewCountdown {
  return { kind, device_id, device_name, due_at: due_at?.toISOString() ?? null, remaining, limit: most };
}
