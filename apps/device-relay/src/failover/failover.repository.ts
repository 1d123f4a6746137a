import { FROM_COPY, ON_UNKNOWN_SERVER, Prisma, type PrismaService } from '#database';
import { knownFiscalFields, OFD_ALARM_MS } from '#fiscal-domain';
import { changeLanes } from '#ledger';
import { databaseNow, type SqlNow } from '../database-now.js';
import { spreadReceipts, type MovableReceipt, type Target } from './spread-receipts.js';

/** Receipts moved in one transaction; the rest follows in the next round. */
const BATCH = 200;
/** Of one lane no more are read, or counted. */
const COUNTED = 10_000;

/** A busy pool must not fail it: no caller waits for it, only receipts. */
const TRANSACTION_MS = { timeout: 15_000 };

type Tx = Prisma.TransactionClient;

interface TargetRow {
  id: string;
  is_same_branch: boolean;
  capabilities: string[] | null;
  waiting: number;
}

/**
 * Up to here the lane of each device that is away is asked for. Else all lanes in which something waits are read once, which under load are
 * thousands, and every second: 50 ms of processor time where no device is away at all.
 */
const FEW_AWAY = 500;

/** Moves of accepted receipts between lanes. */
export class FailoverRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow = databaseNow,
    private readonly fewAway = FEW_AWAY,
  ) {}

  /**
   * Devices that have been away for longer than their profile allows, in whose lanes something waits, and beside which another can take
   * it; by their ids, those after `after`.
   */
  async devicesAway(limit: number, after = ''): Promise<string[]> {
    // By the index, however much waits; at rest nothing does. The statement reads the state of each register.
    const isAnyWaiting = await this.prisma.ask<boolean>(
      Prisma.sql`SELECT EXISTS (SELECT FROM waiting_lanes_after('', 1))`,
    );
    if (!isAnyWaiting) return [];
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH away AS MATERIALIZED (
        SELECT d.id, d.merchant_id, d.branch_id, d.group_id FROM devices d
         WHERE d.id > ${after} AND d.deleted_at IS NULL AND d.state NOT IN ('online', 'degraded')
           AND jsonb_typeof(d.profile -> 'failoverAfterMs') = 'number'
           AND d.state_since <= ${this.now()} - make_interval(secs => (d.profile ->> 'failoverAfterMs')::float8 / 1000)
      )
      SELECT d.id FROM away d
       WHERE CASE WHEN (SELECT count(*) FROM away) <= ${this.fewAway}::int8
                  THEN EXISTS (SELECT FROM lane_waiting(d.id, 1))
                  ELSE d.id IN (SELECT device_id FROM waiting_lanes()) END
         AND EXISTS (SELECT FROM devices t JOIN lanes l ON l.device_id = t.id WHERE ${this.canTake()})
       ORDER BY d.id LIMIT ${limit}`;
    return rows.map(({ id }) => id);
  }

  /**
   * Moves what waits on a device to others of its branch, else of its group, with a new place in their lanes, oldest
   * first. @returns the devices that have got some
   *
   * What may move is `accepted` at this instant, by the row's own lock: the relay's intent (openAttempt of libs/ledger) asks
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
      const moves = spreadReceipts(await this.movable(tx, deviceId, targets), targets);
      return moves.length === 0 ? [] : changeLanes(tx, deviceId, moves);
    }, TRANSACTION_MS);
  }

  private async targets(tx: Tx, deviceId: string): Promise<Target[]> {
    const rows = await tx.$queryRaw<TargetRow[]>`
      SELECT t.id, t.branch_id = d.branch_id AS is_same_branch, t.capabilities, lane_length(t.id, ${COUNTED}::int) AS waiting
        FROM devices d JOIN devices t ON ${this.canTake()} JOIN lanes l ON l.device_id = t.id
       WHERE d.id = ${deviceId} ORDER BY t.id`;
    return rows.map(({ id, is_same_branch: isSameBranch, waiting, capabilities }) => ({
      ...{ deviceId: id, isSameBranch, waiting },
      takes: knownFiscalFields(capabilities ?? []),
    }));
  }

  /** Device `t` is another of the branch or group of `d`: healthy, taking receipts, with space in its module, shifts left in it and far from its fuse. */
  private canTake(): Prisma.Sql {
    return Prisma.sql`
      t.merchant_id = d.merchant_id AND t.id <> d.id AND (t.branch_id = d.branch_id OR t.group_id = d.group_id)
      AND t.deleted_at IS NULL AND t.registered_at IS NOT NULL AND t.draining_since IS NULL
      AND t.state IN ('online', 'degraded')
      AND coalesce((t.reading ->> 'unsentReceipts')::bigint < 0.95 * (t.reading ->> 'maxUnsentReceipts')::bigint, true)
      AND coalesce((t.reading ->> 'zReportsMax')::bigint = 0
                     OR (t.reading ->> 'zReportsUsed')::bigint < (t.reading ->> 'zReportsMax')::bigint, true)
      AND coalesce((t.reading ->> 'oldestUnsentAt')::timestamptz
                     > ${this.now()} - make_interval(secs => ${OFD_ALARM_MS / 1_000}), true)`;
  }

  /**
   * Locked until the move. Refunds go to the terminal that sold. Whatever was tried before must be known not to have
   * left: not a byte sent, or a refusal to the first sending. An operator's "send again" and what counters or repetitions
   * proved was proven for this register alone. What would lose a field that it must not lose on each of the targets is passed by
   * here, so that it does not hold up those behind it. Of a receipt that is older than a restore nothing is known.
   */
  private async movable(tx: Tx, deviceId: string, targets: readonly Target[]): Promise<MovableReceipt[]> {
    const sets = [...new Set(targets.map(({ takes }) => JSON.stringify(takes)))];
    return tx.$queryRaw<MovableReceipt[]>`
      SELECT r.id, coalesce(r.document -> 'requiredFields', '[]') AS needs
        FROM lane_places(${deviceId}, ${COUNTED}::int) p JOIN receipts r ON r.id = p.id
       WHERE r.device_id = ${deviceId} AND r.status::text = 'accepted' AND p.type <> 'refund' AND NOT ${FROM_COPY} AND NOT ${ON_UNKNOWN_SERVER}
         AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id
                            AND (a.state <> 'not_registered'
                                 OR coalesce(a.outcome -> 'answer' ->> 'kind', '') NOT IN ('not_sent', 'refused')))
         AND coalesce(r.document -> 'requiredFields', '[]') <@ ANY (${sets}::jsonb[])
       ORDER BY r.lane_place LIMIT ${BATCH} FOR NO KEY UPDATE OF r SKIP LOCKED`;
  }
}
