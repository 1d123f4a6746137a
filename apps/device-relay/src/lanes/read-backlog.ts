import type { PrismaService } from '#database';

/** How far receipts that wait are counted: a backlog of a million must not cost a scrape a second. */
const COUNTED = 100_000;

/** What has not come to its end, over all lanes. */
export interface Backlog {
  /** Receipts that wait for a person. */
  unknown: number;
  /** Lanes with an accepted receipt. */
  lanes: number;
  /** Accepted receipts, counted up to 100 000. */
  waiting: number;
  /** Of the longest lane, counted so. */
  longest: number;
  /** 0 when nothing waits. */
  oldestSeconds: number;
  /** Since the intent of the attempt that has been open longest; 0 when none is. */
  oldestAttemptSeconds: number;
}

/** Reads indexes of what is unfinished alone; what is done costs nothing, however much it is. */
export async function readBacklog(prisma: PrismaService): Promise<Backlog> {
  const [row] = await prisma.$queryRaw<Backlog[]>`
    WITH RECURSIVE lane AS (
      (SELECT device_id FROM receipts WHERE status = 'accepted' ORDER BY device_id LIMIT 1)
      UNION ALL
      SELECT (SELECT r.device_id FROM receipts r WHERE r.status = 'accepted' AND r.device_id > lane.device_id
               ORDER BY r.device_id LIMIT 1)
        FROM lane WHERE lane.device_id IS NOT NULL
    ), first AS (
      SELECT (SELECT r.created_at FROM receipts r WHERE r.status = 'accepted' AND r.device_id = lane.device_id
               ORDER BY r.lane_place LIMIT 1) AS created_at
        FROM lane WHERE lane.device_id IS NOT NULL
    ), length AS (
      SELECT count(*) AS receipts
        FROM (SELECT device_id FROM receipts WHERE status = 'accepted' LIMIT ${COUNTED}) waiting GROUP BY device_id
    ), unsettled AS (
      SELECT a.state, a.created_at, r.id, r.status FROM attempts a JOIN receipts r ON r.id = a.receipt_id
       WHERE a.state IN ('open', 'unknown')
    )
    SELECT (SELECT count(DISTINCT id) FROM unsettled WHERE state = 'unknown' AND status = 'unknown')::int AS unknown,
           (SELECT count(*) FROM first)::int AS lanes,
           (SELECT coalesce(sum(receipts), 0) FROM length)::int AS waiting,
           (SELECT coalesce(max(receipts), 0) FROM length)::int AS longest,
           (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0) FROM first)::float8 AS "oldestSeconds",
           (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0) FROM unsettled WHERE state = 'open')::float8
             AS "oldestAttemptSeconds"`;
  if (!row) throw new Error('the database told no backlog');
  return row;
}
