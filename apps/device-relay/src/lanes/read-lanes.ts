import {
  FROM_COPY,
  IS_ADMITTED,
  givenRows,
  HOLDS_UP_MS,
  Prisma,
  StatementGroup,
  UNPROVEN_ATTEMPT,
  type PrismaService,
  type StoredReceiptDocument,
} from '#database';
import type { Baseline, Calibration } from '#fiscal-domain';
import { LANE_LOCK_SPACE, LANES_GO, SETTLE_GRACE_SECONDS, type LastKnown } from '#ledger';
import { laneDeviceOf, linkKeyInForce, type LaneDeviceRow } from '../devices/lane-device.js';
import type { DueLane } from './followed-lanes.js';
import type { LaneSnapshot, OpenAttempt, WaitingReceipt } from './ports.js';

interface SnapshotRow extends LaneDeviceRow {
  is_admitted: boolean;
  number: number;
  baseline: Baseline | null;
  last_known: LastKnown | null;
  calibration: Calibration | null;
  must_settle: boolean;
  failures: number;
  wait_ms: number;
  attempt: AttemptRow | null;
  waiting: WaitingReceipt[] | null;
}

interface AttemptRow {
  id: string;
  receipt_id: string;
  baseline: Baseline;
  request_hex: string;
  document: StoredReceiptDocument;
  created_ms: number;
  age_ms: number;
  refused_ago_ms: number | null;
  trace_parent: string | null;
}

interface AskedLane {
  id: string;
  /** How many at most. */
  receipts: number;
}

const askedRows = givenRows<keyof AskedLane>({ id: 'text', receipts: 'int' });
/** Each may bring ten large documents. */
const MAX_LANES = 16;

export interface OverdueLanes {
  due: string[];
  last: string | null;
}

/**
 * What is to be done on a lane, and which lanes have something to be done. Changes nothing. What waits is read by functions of the
 * database whose plan does not depend on statistics (docs/adr/0060-lane-reads.md).
 */
export class ReadLanes {
  private readonly lockNumbers = new Map<string, number>();
  private readonly group = new StatementGroup((lanes: readonly AskedLane[]) => this.readThese(lanes), {
    maxRows: MAX_LANES,
    lateMs: HOLDS_UP_MS,
    isApartWhenRefused: true,
  });

  constructor(
    private readonly prisma: PrismaService,
    private readonly relayId: string,
  ) {}

  /** Kept in memory: a lane's number never changes. */
  async lockNumberOf(deviceId: string): Promise<number | null> {
    const known = this.lockNumbers.get(deviceId);
    if (known !== undefined) return known;
    const [row] = await this.prisma.$queryRaw<{ lock_number: number }[]>`
      SELECT lock_number FROM lanes WHERE device_id = ${deviceId}`;
    if (!row) return null;
    this.lockNumbers.set(deviceId, row.lock_number);
    return row.lock_number;
  }

  /** By device, those that have a lane. Their lock numbers are kept with it: a relay asks for both when a lane is new to it. */
  async merchantsOf(deviceIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.prisma.$queryRaw<{ device_id: string; merchant_id: string; lock_number: number }[]>`
      SELECT l.device_id, d.merchant_id, l.lock_number FROM lanes l JOIN devices d ON d.id = l.device_id
       WHERE l.device_id = ANY(${[...deviceIds]}::text[])`;
    for (const row of rows) this.lockNumbers.set(row.device_id, row.lock_number);
    return new Map(rows.map((row) => [row.device_id, row.merchant_id]));
  }

  /** With as many of its receipts; sees what was committed before the call. Lanes that are read at the same moment are one statement. */
  read(deviceId: string, receipts: number): Promise<LaneSnapshot | null> {
    return this.group.one({ id: deviceId, receipts });
  }

  private async readThese(lanes: readonly AskedLane[]): Promise<(LaneSnapshot | null)[]> {
    const rows = await this.prisma.queryHot<SnapshotRow>(Prisma.sql`
      SELECT q.number, d.merchant_id, d.state, d.base_url, d.api_key_sealed, d.profile, d.capabilities, l.baseline, l.last_known, l.calibration,
             l.must_settle, l.failures, ${linkKeyInForce('d')}, ${IS_ADMITTED} AS is_admitted,
             extract(epoch FROM greatest(
               coalesce(l.due_at - now(), interval '0'), interval '0',
               CASE WHEN l.settling_relay <> ${this.relayId}
                    THEN l.settle_until - now() + make_interval(secs => ${SETTLE_GRACE_SECONDS}) END
             ))::float8 * 1000 AS wait_ms,
             (SELECT jsonb_build_object(
                       'id', a.id, 'receipt_id', a.receipt_id, 'baseline', a.baseline,
                       'request_hex', encode(a.request, 'hex'), 'document', r.document, 'trace_parent', r.trace_parent,
                       'created_ms', extract(epoch FROM a.created_at) * 1000,
                       'age_ms', extract(epoch FROM now() - a.created_at) * 1000,
                       'refused_ago_ms', CASE WHEN a.outcome ->> 'refused_to' = ${this.relayId} THEN
                         extract(epoch FROM now() - (a.outcome ->> 'refused_at')::timestamptz) * 1000 END)
                FROM lane_attempt(d.id) a JOIN receipts r ON r.id = a.receipt_id) AS attempt,
             (SELECT jsonb_agg(jsonb_build_object('id', w.id, 'document', w.document, 'extraInfo', w.extra_info, 'traceParent', w.trace_parent,
                                'mayBeRegistered', EXISTS (
                                SELECT FROM attempts a WHERE a.receipt_id = w.id AND ${UNPROVEN_ATTEMPT}) OR w.is_from_copy,
                                'isFromCopy', w.is_from_copy AND NOT EXISTS (
                                SELECT FROM restore_checks c, database_identity i
                                 WHERE c.receipt_id = w.id AND c.restored_at = i.changed_at)) ORDER BY w.lane_place)
                FROM (SELECT r.*, ${FROM_COPY} AS is_from_copy FROM lane_waiting(d.id, q.receipts) r) w) AS waiting
        FROM ${askedRows(lanes)} q JOIN devices d ON d.id = q.id JOIN lanes l ON l.device_id = d.id`);
    const found = new Map(rows.map((row) => [row.number, row]));
    return lanes.map(({ id }, number) => snapshotOf(id, found.get(number)));
  }

  /**
   * An attempt without bytes was never sent: it stands for what another copy of the database may have sent (hold-from-copy.ts). One of which no byte
   * left says nothing of those before it.
   */
  async unprovenRequest(receiptId: string): Promise<Buffer | null> {
    const [last] = await this.prisma.$queryRaw<{ request: Uint8Array; is_unproven: boolean }[]>`
      SELECT a.request, ${UNPROVEN_ATTEMPT} AS is_unproven FROM attempts a
       WHERE a.receipt_id = ${receiptId} AND a.request <> '' AND coalesce(a.outcome #>> '{answer,kind}', '') <> 'not_sent' ORDER BY a.number DESC LIMIT 1`;
    return last?.is_unproven === true ? Buffer.from(last.request) : null;
  }

  /**
   * Of so many lanes with work that follow `after`, those that have been due for a while and are held by no relay: the
   * sweeper's question. `last`: where the next read begins; null after the last lane.
   */
  async overdueLanes(from: { overdueMs: number; after: string; lanes: number }): Promise<OverdueLanes> {
    const { overdueMs, after, lanes } = from;
    const overdueSince = Prisma.sql`now() - make_interval(secs => ${overdueMs / 1_000})`;
    const [found] = await this.prisma.$queryRaw<{ due: string[] | null; last: string | null; lanes: number }[]>`
      WITH working AS (
        SELECT device_id, updated_at AS since FROM waiting_lanes_after(${after}, ${lanes}::int)
        UNION ALL
        SELECT device_id, created_at FROM open_attempts_after(${after}, ${lanes}::int)
      ), read AS (
        SELECT device_id, min(since) AS since FROM working GROUP BY device_id ORDER BY device_id LIMIT ${lanes}
      )
      SELECT (SELECT array_agg(c.device_id ORDER BY c.device_id)
                FROM read c JOIN lanes l USING (device_id) JOIN devices d ON d.id = c.device_id
               WHERE ${this.isFree()}
                 AND (l.due_at IS NULL OR l.due_at < ${overdueSince}) AND l.updated_at < ${overdueSince}
                 AND c.since < ${overdueSince}) AS due,
             (SELECT max(device_id) FROM read) AS last, (SELECT count(*) FROM read)::int AS lanes`;
    return { due: found?.due ?? [], last: found?.lanes === lanes ? found.last : null };
  }

  /** The device of the lane at this share of all lanes, 0 to 1; null when there is none. */
  async laneAt(share: number): Promise<string | null> {
    const [row] = await this.prisma.$queryRaw<{ device_id: string }[]>`
      SELECT device_id FROM lanes ORDER BY device_id
      OFFSET floor(${share}::float8 * (SELECT count(*) FROM lanes)) LIMIT 1`;
    return row?.device_id ?? null;
  }

  /** Which of these lanes have work, are due and held by no relay at this moment. */
  dueAmong(deviceIds: readonly string[]): Promise<DueLane[]> {
    return this.prisma.$queryRaw<DueLane[]>`
      SELECT * FROM (
        SELECT l.device_id AS "deviceId",
               coalesce(lane_open_attempt(l.device_id), (SELECT w.id FROM lane_waiting(l.device_id, 1) w)) AS first
          FROM lanes l JOIN devices d ON d.id = l.device_id
         WHERE l.device_id = ANY(${[...deviceIds]}::text[]) AND ${this.isFree()} AND (l.due_at IS NULL OR l.due_at <= now())
      ) due WHERE first IS NOT NULL`;
  }

  /** Lane `l` of device `d` may be worked on by this relay, and is held by none. */
  private isFree(): Prisma.Sql {
    return Prisma.sql`
      d.state NOT IN ('disabled', 'replaced', 'claimed_elsewhere')
      AND ${LANES_GO}
      AND (l.settling_relay IS NULL OR l.settling_relay = ${this.relayId}
           OR l.settle_until < now() - make_interval(secs => ${SETTLE_GRACE_SECONDS}))
      AND NOT EXISTS (SELECT FROM pg_locks k WHERE k.locktype = 'advisory' AND k.classid = ${LANE_LOCK_SPACE}
                       AND k.objid = l.lock_number AND k.objsubid = 2
                       AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;
  }
}

function openAttemptOf(row: AttemptRow): OpenAttempt {
  return {
    id: row.id,
    receiptId: row.receipt_id,
    baseline: row.baseline,
    request: Buffer.from(row.request_hex, 'hex'),
    document: row.document,
    createdAt: new Date(row.created_ms),
    ageMs: row.age_ms,
    // One in the future was noted by a clock that has been set back since: how long ago is not known, and the settle time begins anew.
    refusedAgoMs: (row.refused_ago_ms ?? -1) < 0 ? null : row.refused_ago_ms,
    traceParent: row.trace_parent,
  };
}

function snapshotOf(deviceId: string, row: SnapshotRow | undefined): LaneSnapshot | null {
  if (!row) return null;
  return {
    device: laneDeviceOf(deviceId, row),
    isAdmitted: row.is_admitted,
    baseline: row.baseline,
    lastKnown: row.last_known,
    calibration: row.calibration,
    mustSettle: row.must_settle,
    failures: row.failures,
    waitMs: Math.ceil(row.wait_ms),
    openAttempt: row.attempt && openAttemptOf(row.attempt),
    waiting: row.waiting ?? [],
  };
}
