import { Prisma } from '#database';
import { idAt } from '../../http/id-times.js';
import { readTimestamp } from '../../http/query-rules.js';
import type { DeliveriesQuery } from './webhook-bodies.js';

/** What a page's search came to. */
export interface FoundDeliveries {
  /** Newest first; at most one more than the page holds. */
  ids: string[];
  walked: number;
  /** The oldest that was read. */
  walked_to: string | null;
}

/** With a filter that no index answers so many are read for one page: a rare status must not make a request read everything. */
export const WALKED = 5_000;

/** Deliveries that wait, of one endpoint: so many are read to see that there are no more. */
const FEW = 1_000;

const STATE_IS: Readonly<Record<NonNullable<DeliveriesQuery['state']>, Prisma.Sql>> = {
  pending: Prisma.sql`state = 'pending'`,
  delivered: Prisma.sql`state = 'delivered'`,
  failed: Prisma.sql`state = 'failed'`,
};

/** Whether some of the filter is only read off the rows. */
export function isWalked({ type, http_status: status }: DeliveriesQuery): boolean {
  return type !== undefined || status !== undefined;
}

/** The ids of one page of an endpoint's deliveries: what indexes answer first, the rest over no more than {@link WALKED} of those. */
export function deliverySearch(
  { merchantId, webhookId }: { merchantId: string; webhookId: string },
  query: DeliveriesQuery,
  { limit, afterId }: { limit: number; afterId: string | null },
): Prisma.Sql {
  const most = isWalked(query) ? WALKED : limit + 1;
  const newest = Prisma.sql`
      SELECT id, type, last_http_status FROM webhook_deliveries
       WHERE ${Prisma.join(indexed({ merchantId, webhookId }, query, afterId), ' AND ')}
       ORDER BY id DESC LIMIT ${most}`;
  const isFew = query.state === 'pending' && query.subject_id === undefined;
  return Prisma.sql`
    WITH ${isFew ? fewOrNewest({ merchantId, webhookId }, query, { newest, most, afterId }) : Prisma.sql`walked AS MATERIALIZED (${newest})`}
    SELECT ARRAY(SELECT id FROM walked WHERE ${Prisma.join(readOff(query), ' AND ')} ORDER BY id DESC LIMIT ${limit + 1}) AS ids,
           (SELECT count(*)::int4 FROM walked) AS walked, (SELECT min(id) FROM walked) AS walked_to`;
}

/**
 * Deliveries that wait are mostly a handful among millions, which by the order of the page would be read from end to end: PostgreSQL takes
 * each state for a third of an endpoint's deliveries. The index by which they become due has these alone. Where it has many, the newest of
 * all are such, and the order of the page finds them at once; but for more than a thousand old ones in back-off behind newer ones that went.
 */
function fewOrNewest(
  { merchantId, webhookId }: { merchantId: string; webhookId: string },
  query: DeliveriesQuery,
  { newest, most, afterId }: { newest: Prisma.Sql; most: number; afterId: string | null },
): Prisma.Sql {
  const waiting = indexed({ merchantId, webhookId }, { state: 'pending' }, null);
  const asked = indexed({ merchantId, webhookId }, { ...query, state: undefined }, afterId);
  return Prisma.sql`
    waiting AS MATERIALIZED (
      SELECT id, type, last_http_status, endpoint_id, merchant_id, created_at FROM webhook_deliveries
       WHERE ${Prisma.join(waiting, ' AND ')} ORDER BY due_at LIMIT ${FEW + 1}
    ), walked AS MATERIALIZED (
      (SELECT id, type, last_http_status FROM waiting
        WHERE (SELECT count(*) FROM waiting) <= ${FEW}::int4 AND ${Prisma.join(asked, ' AND ')} ORDER BY id DESC LIMIT ${most})
      UNION ALL
      (SELECT id, type, last_http_status FROM (${newest}) AS newest WHERE (SELECT count(*) FROM waiting) > ${FEW}::int4)
    )`;
}

function indexed(
  { merchantId, webhookId }: { merchantId: string; webhookId: string },
  query: DeliveriesQuery,
  afterId: string | null,
): Prisma.Sql[] {
  const conditions = [Prisma.sql`endpoint_id = ${webhookId} AND merchant_id = ${merchantId}`];
  const [from, to] = [timeOf(query.created_from), timeOf(query.created_to)];
  if (afterId !== null) conditions.push(Prisma.sql`id < ${afterId}`);
  if (query.state !== undefined) conditions.push(STATE_IS[query.state]);
  if (query.subject_id !== undefined) conditions.push(Prisma.sql`subject_id = ${query.subject_id}`);
  if (from) conditions.push(Prisma.sql`created_at >= ${from}::timestamptz AND id >= ${idAt('dlv', from, -1)}`);
  if (to) conditions.push(Prisma.sql`created_at < ${to}::timestamptz AND id < ${idAt('dlv', to, 1)}`);
  return conditions;
}

function readOff({ type, http_status: status }: DeliveriesQuery): Prisma.Sql[] {
  const conditions = [Prisma.sql`true`];
  if (type !== undefined) conditions.push(typeIs(type.split(',')));
  if (status !== undefined) {
    const from = Number(status.replace('xx', '00'));
    const to = status.endsWith('xx') ? from + 99 : from;
    conditions.push(Prisma.sql`last_http_status BETWEEN ${from}::int4 AND ${to}::int4`);
  }
  return conditions;
}

function typeIs(patterns: readonly string[]): Prisma.Sql {
  if (patterns.includes('*')) return Prisma.sql`true`;
  const kinds = patterns.filter((pattern) => pattern.endsWith('.*')).map((pattern) => pattern.slice(0, -1));
  const types = patterns.filter((pattern) => !pattern.endsWith('.*'));
  return Prisma.sql`(type = ANY(${types}::text[])
                     OR EXISTS (SELECT FROM unnest(${kinds}::text[]) AS k(kind) WHERE starts_with(type, k.kind)))`;
}

function timeOf(text: string | undefined): Date | null {
  return text === undefined ? null : readTimestamp(text);
}
