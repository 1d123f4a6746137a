import { Prisma } from '#database';
import { ENDED_AND_FOUND } from '../attempts/late-answer.js';
import type { Statements } from '../statements.js';

/** How far all receipts that wait are counted: a backlog of a million must not cost a scrape a second. */
const COUNTED = 20_000;
/** The longest lane is searched among those whose first receipt waits longest, and counted so far. */
const LONGEST_AMONG = 20;
const COUNTED_OF_LANE = 5_000;
/** So are receipts that wait for a person. */
const COUNTED_UNKNOWN = 5_000;

/** What has not come to its end, over all lanes. */
export interface Backlog {
  /** Receipts of live merchants that wait for a person, counted up to 5 000. */
  unknown: number;
  /** Since the attempt was closed, or answered late, whose receipt has waited longest for a person; 0 when none does. */
  oldestUnknownSeconds: number;
  /** Lanes with an accepted receipt. */
  lanes: number;
  /** Accepted receipts, counted up to 20 000. */
  waiting: number;
  /** Of the longest of the 20 lanes that wait longest, counted up to 5 000. */
  longest: number;
  /** Of live merchants, whatever the state of its device; 0 when nothing waits. */
  oldestSeconds: number;
  /** Since the intent of the attempt of a live merchant that has been open longest, whatever the state of its device; 0 when none is. */
  oldestAttemptSeconds: number;
}

/** Reads indexes of what is unfinished, each no further than its bound; what is done costs nothing, however much it is. */
export async function readBacklog(database: Pick<Statements, '$queryRaw'>): Promise<Backlog> {
  const [row] = await database.$queryRaw<Backlog[]>`
    WITH first AS MATERIALIZED (
      SELECT device_id, created_at FROM waiting_lanes()
    ), oldest AS (
      SELECT device_id FROM first ORDER BY created_at LIMIT ${LONGEST_AMONG}
    ), waiting_for_person AS (${waitingForPerson(COUNTED_UNKNOWN)})
    SELECT (SELECT count(*) FROM waiting_for_person)::int AS unknown,
           (SELECT coalesce(extract(epoch FROM now() - min(closed_at)), 0) FROM waiting_for_person)::float8
             AS "oldestUnknownSeconds",
           (SELECT count(*) FROM first)::int AS lanes,
           waiting_receipts(${COUNTED}::int) AS waiting,
           (SELECT coalesce(max(lane_length(device_id, ${COUNTED_OF_LANE}::int)), 0) FROM oldest)::int AS longest,
           (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0) FROM first
             WHERE NOT starts_with(device_id, 'dev_test_'))::float8 AS "oldestSeconds",
           (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0) FROM open_attempts()
             WHERE NOT starts_with(device_id, 'dev_test_'))::float8 AS "oldestAttemptSeconds"`;
  if (!row) throw new Error('the database returned no backlog');
  return row;
}

/** Receipts of live merchants that wait for a person, counted up to `most`. */
export async function countUnknown(database: Pick<Statements, '$queryRaw'>, most: number): Promise<number> {
  const [row] = await database.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int4 AS count FROM (${waitingForPerson(most)}) AS waiting`;
  return row?.count ?? 0;
}

/** The same of one merchant, a sandbox too. */
export async function countUnknownOf(
  database: Pick<Statements, '$queryRaw'>,
  merchantId: string,
  most: number,
): Promise<number> {
  const [row] = await database.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int4 AS count FROM (
      (SELECT r.id FROM receipts r WHERE r.merchant_id = ${merchantId} AND r.status = 'unknown'
          AND EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id AND a.state::text = 'unknown')
        ORDER BY r.merchant_id, r.id LIMIT ${most})
      UNION ALL
      (SELECT DISTINCT r.id FROM attempts a JOIN receipts r ON r.id = a.receipt_id
        WHERE ${ENDED_AND_FOUND} AND r.merchant_id = ${merchantId} LIMIT ${most})
    ) AS waiting`;
  return row?.count ?? 0;
}

/**
 * Of receipts whose ids lie between two, those of which something is still to come: the merchants with the most of them. Merchant by
 * merchant, as the index of these few begins with it; each is counted up to 2 000.
 */
export function mostUnderWay(
  database: Pick<Statements, '$queryRaw'>,
  { from, below }: { from: string; below: string },
): Promise<{ merchant: string; receipts: number }[]> {
  return database.$queryRaw`
    SELECT m.id AS merchant, u.receipts FROM merchants m CROSS JOIN LATERAL (
      SELECT count(*)::int4 AS receipts FROM (
        SELECT FROM receipts r WHERE r.merchant_id = m.id AND r.id >= ${from} AND r.id < ${below}
           AND r.status IN ('awaiting_payment', 'accepted', 'sending', 'unknown') LIMIT 2000
      ) counted
    ) u WHERE u.receipts > 0 ORDER BY u.receipts DESC, m.id LIMIT 3`;
}

/**
 * When the attempt of each was closed, or its register answered for a receipt that a person had ended. Not of a sandbox, where a value in the sale forces it (docs/sandbox.md): merchant by merchant, so that a
 * sandbox with a million of them is passed over by one step of the index.
 */
function waitingForPerson(most: number): Prisma.Sql {
  return Prisma.sql`
      WITH RECURSIVE of_merchant AS (
        (SELECT merchant_id FROM receipts WHERE status = 'unknown' ORDER BY merchant_id LIMIT 1)
        UNION ALL
        SELECT (SELECT r.merchant_id FROM receipts r WHERE r.status = 'unknown' AND r.merchant_id > m.merchant_id ORDER BY r.merchant_id LIMIT 1)
          FROM of_merchant m WHERE m.merchant_id IS NOT NULL
      )
      SELECT a.closed_at FROM of_merchant m
       CROSS JOIN LATERAL (
         SELECT r.id FROM receipts r WHERE r.status = 'unknown' AND r.merchant_id = m.merchant_id
          ORDER BY r.merchant_id, r.id LIMIT ${most}
       ) r
       CROSS JOIN LATERAL (
         SELECT max(closed_at) AS closed_at FROM attempts WHERE receipt_id = r.id AND state::text = 'unknown'
       ) a
       WHERE NOT starts_with(m.merchant_id, 'mer_test_') AND a.closed_at IS NOT NULL
      UNION ALL
      SELECT (a.outcome #>> '{found_late,0,at}')::timestamptz FROM attempts a JOIN receipts r ON r.id = a.receipt_id
       WHERE ${ENDED_AND_FOUND} AND NOT starts_with(r.id, 'rcp_test_')
       LIMIT ${most}`;
}
