import { FROM_COPY, type Prisma, type PrismaService } from '#database';
import { newId } from '#runtime';
import { databaseNow, type SqlNow } from '../database-now.js';
import { FUSE_ALARM_MS } from '../health/device-state.js';
import { spreadReceipts, type Move, type Target } from './spread-receipts.js';

/** Receipts moved in one transaction; the rest follows in the next round. */
const BATCH = 200;

/** A busy pool must not fail it: nobody waits for it but receipts. */
const TRANSACTION_MS = { maxWait: 10_000, timeout: 15_000 };

type Tx = Prisma.TransactionClient;

interface TargetRow {
  id: string;
  is_same_branch: boolean;
  waiting: number;
}

/** Moves of accepted receipts between lanes. */
export class FailoverRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow = databaseNow,
  ) {}

  /** Devices that have been away for longer than their profile allows and have receipts that wait. */
  async devicesAway(limit: number): Promise<string[]> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT d.id FROM devices d
       WHERE d.deleted_at IS NULL AND d.state NOT IN ('online', 'degraded')
         AND jsonb_typeof(d.profile -> 'failoverAfterMs') = 'number'
         AND d.state_since <= ${this.now()} - make_interval(secs => (d.profile ->> 'failoverAfterMs')::float8 / 1000)
         AND EXISTS (SELECT FROM receipts r WHERE r.device_id = d.id AND r.status = 'accepted' AND r.type <> 'refund')
       LIMIT ${limit}`;
    return rows.map(({ id }) => id);
  }

  /**
   * Moves what waits on a device to others of its branch, else of its group, with a new place in their lanes, oldest
   * first. @returns the devices that have got some
   *
   * What may move is `accepted` at this instant, by the row's own lock: the intent of openAttempt (lane.repository.ts) asks
   * for the same row with the same condition, so that one of the two comes first and the other finds nothing. A receipt of
   * which bytes may ever have left stays: only its own register can be asked whether it has them. One mover per device at
   * a time (its row is locked), so that receipts keep their order in each new lane.
   */
  async moveAway(deviceId: string): Promise<string[]> {
    return this.prisma.$transaction(async (tx) => {
      const [away] = await tx.$queryRaw<{ id: string }[]>`
        SELECT id FROM devices WHERE id = ${deviceId} AND deleted_at IS NULL AND state NOT IN ('online', 'degraded')
           FOR NO KEY UPDATE SKIP LOCKED`;
      if (!away) return [];
      const targets = await this.targets(tx, deviceId);
      if (targets.length === 0) return [];
      const moves = spreadReceipts(await this.movable(tx, deviceId), targets);
      return moves.length === 0 ? [] : this.move(tx, deviceId, moves);
    }, TRANSACTION_MS);
  }

  /** Healthy, taking receipts, with room in its module and far from its fuse. */
  private async targets(tx: Tx, deviceId: string): Promise<Target[]> {
    const rows = await tx.$queryRaw<TargetRow[]>`
      SELECT t.id, t.branch_id = d.branch_id AS is_same_branch,
             (SELECT count(*)::int FROM receipts r WHERE r.device_id = t.id AND r.status = 'accepted') AS waiting
        FROM devices d
        JOIN devices t ON t.merchant_id = d.merchant_id AND t.id <> d.id
                      AND (t.branch_id = d.branch_id OR t.group_id = d.group_id)
        JOIN lanes l ON l.device_id = t.id
       WHERE d.id = ${deviceId} AND t.deleted_at IS NULL AND t.registered_at IS NOT NULL AND t.draining_since IS NULL
         AND t.state IN ('online', 'degraded')
         AND coalesce((t.reading ->> 'unsentReceipts')::bigint < 0.95 * (t.reading ->> 'maxUnsentReceipts')::bigint, true)
         AND coalesce((t.reading ->> 'oldestUnsentAt')::timestamptz
                        > ${this.now()} - make_interval(secs => ${FUSE_ALARM_MS / 1_000}), true)
       ORDER BY t.id`;
    return rows.map(({ id, is_same_branch: isSameBranch, waiting }) => ({ deviceId: id, isSameBranch, waiting }));
  }

  /**
   * Locked until the move. Refunds go to the terminal that sold. Whatever was tried before must be known not to have
   * left: not a byte sent, or a refusal to the first sending. An operator's "send again" and what counters or repetitions
   * proved was proven for this register alone. Of a receipt that is older than a restore nothing is known.
   */
  private async movable(tx: Tx, deviceId: string): Promise<string[]> {
    const rows = await tx.$queryRaw<{ id: string }[]>`
      SELECT r.id FROM receipts r
       WHERE r.device_id = ${deviceId} AND r.status = 'accepted' AND r.type <> 'refund' AND NOT ${FROM_COPY}
         AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id
                            AND (a.state <> 'not_registered'
                                 OR coalesce(a.outcome -> 'answer' ->> 'kind', '') NOT IN ('not_sent', 'refused')))
       ORDER BY r.lane_place LIMIT ${BATCH} FOR NO KEY UPDATE OF r SKIP LOCKED`;
    return rows.map(({ id }) => id);
  }

  private async move(tx: Tx, from: string, moves: readonly Move[]): Promise<string[]> {
    const rows = await tx.$queryRaw<{ device_id: string }[]>`
      WITH planned AS (
        SELECT p.receipt_id, p.device_id, p.event_id, p.place FROM unnest(
          ${moves.map(({ receiptId }) => receiptId)}::text[], ${moves.map(({ deviceId }) => deviceId)}::text[],
          ${moves.map(() => newId('evt'))}::text[]) WITH ORDINALITY AS p(receipt_id, device_id, event_id, place)
      ), drawn AS (
        SELECT lane_place, row_number() OVER (ORDER BY lane_place) AS place
          FROM (SELECT nextval('lane_place_seq') AS lane_place FROM generate_series(1, ${moves.length}::int)) s
      ), moved AS (
        UPDATE receipts r SET device_id = p.device_id, lane_place = n.lane_place, updated_at = now(),
                              moved_from = array_append(r.moved_from, r.device_id)
          FROM planned p JOIN drawn n USING (place)
         WHERE r.id = p.receipt_id AND r.status = 'accepted' AND r.device_id = ${from}
        RETURNING r.id, r.merchant_id, r.device_id, p.event_id
      ), told AS (
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        SELECT event_id, merchant_id, 'receipt.moved', id,
               jsonb_build_object('receipt_id', id, 'from_device_id', ${from}::text, 'device_id', device_id)
          FROM moved
      )
      SELECT DISTINCT device_id FROM moved`;
    return rows.map(({ device_id: deviceId }) => deviceId);
  }
}
