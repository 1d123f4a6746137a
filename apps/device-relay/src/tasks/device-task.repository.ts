import { Prisma, type PrismaService } from '#database';
import { DEVICE_TASK_DONE_CHANNEL, type DeviceTaskKind, type DeviceTaskResult } from '#database';
import type { DeviceTask } from './device-task.js';

export interface ClaimedTask extends DeviceTask {
  kind: DeviceTaskKind;
}

/** How many tasks may be taken, and whose. */
export interface TaskPlaces {
  free: number;
  /** Tasks of one merchant at the same time in this relay. */
  share: number;
  /** Free places that only a merchant without a task is given. */
  reserved: number;
  leaseMs: number;
}

/** A done task is kept for this long, for late callers and for support. */
const KEPT_HOURS = 24;
const DELETED_PER_SWEEP = 500;
const EXPIRED_PER_SWEEP = 100;

/** The rows of `device_tasks`, by the database's clock. Every move is one conditional statement. */
export class DeviceTaskRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly relayId: string,
  ) {}

  /**
   * Takes waiting tasks and those whose relay let its lease run out: each merchant's oldest first, merchants in turn. A merchant
   * has no more at the same time here than its share, and the last free places are for merchants that have none.
   */
  async claim(
    kinds: readonly DeviceTaskKind[],
    { free, share, reserved, leaseMs }: TaskPlaces,
  ): Promise<ClaimedTask[]> {
    if (kinds.length === 0 || free <= 0) return [];
    const due = Prisma.sql`t.state <> 'done' AND (t.state = 'waiting' OR t.lease_until < now())
                           AND t.expires_at > now() AND t.kind = ANY(${[...kinds]}::text[])`;
    const rows = await this.prisma.$queryRaw<
      { id: string; device_id: string; kind: DeviceTaskKind; params: unknown; actor: string }[]
    >`
      WITH held AS (
        SELECT d.merchant_id, count(*) AS tasks FROM device_tasks t JOIN devices d ON d.id = t.device_id
         WHERE t.state = 'running' AND t.relay_id = ${this.relayId} AND t.lease_until >= now() GROUP BY d.merchant_id
      ), placed AS (
        SELECT t.id, t.created_at,
               coalesce(held.tasks, 0) + row_number() OVER (PARTITION BY d.merchant_id ORDER BY t.created_at) AS place
          FROM device_tasks t JOIN devices d ON d.id = t.device_id LEFT JOIN held USING (merchant_id)
         WHERE ${due}
      ), ranked AS (
        SELECT id, place, row_number() OVER (ORDER BY place, created_at) AS rank FROM placed WHERE place <= ${share}
      )
      UPDATE device_tasks SET state = 'running', relay_id = ${this.relayId},
                              lease_until = now() + make_interval(secs => ${leaseMs / 1_000})
       WHERE id IN (SELECT t.id FROM device_tasks t
                     WHERE t.id IN (SELECT id FROM ranked
                                     WHERE rank <= ${free} AND (place = 1 OR rank <= ${free - reserved}))
                       AND ${due} FOR UPDATE SKIP LOCKED)
      RETURNING id, device_id, kind, params, actor`;
    return rows.map(({ device_id: deviceId, ...rest }) => ({ deviceId, ...rest }));
  }

  /** The tasks are still being worked on. */
  async extendLeases(taskIds: readonly string[], leaseMs: number): Promise<void> {
    if (taskIds.length === 0) return;
    await this.prisma.$executeRaw`
      UPDATE device_tasks SET lease_until = now() + make_interval(secs => ${leaseMs / 1_000})
       WHERE id = ANY(${[...taskIds]}::text[]) AND state = 'running' AND relay_id = ${this.relayId}`;
  }

  /**
   * Writes the result and notifies the waiting caller. A relay that lost the task to another may still answer it: the first
   * result counts, and it is the register's either way.
   */
  async finish(taskId: string, result: DeviceTaskResult): Promise<void> {
    await this.prisma.$executeRaw`
      WITH finished AS (
        UPDATE device_tasks SET state = 'done', result = ${JSON.stringify(result)}::jsonb, finished_at = now(),
                                lease_until = NULL
         WHERE id = ${taskId} AND state <> 'done' RETURNING id
      )
      SELECT pg_notify(${DEVICE_TASK_DONE_CHANNEL}, id) FROM finished`;
  }

  /** Closes what was not begun in time, or what its relay left lying after its caller had gone. */
  async closeExpired(): Promise<void> {
    const result: DeviceTaskResult = {
      kind: 'failed',
      code: 'expired',
      detail: 'No relay could ask the register in time.',
    };
    await this.prisma.$executeRaw`
      WITH expired AS (
        UPDATE device_tasks SET state = 'done', result = ${JSON.stringify(result)}::jsonb, finished_at = now(),
                                lease_until = NULL
         WHERE id IN (SELECT id FROM device_tasks
                       WHERE state <> 'done' AND expires_at <= now() AND (state = 'waiting' OR lease_until < now())
                       ORDER BY created_at LIMIT ${EXPIRED_PER_SWEEP} FOR UPDATE SKIP LOCKED)
        RETURNING id
      )
      SELECT pg_notify(${DEVICE_TASK_DONE_CHANNEL}, id) FROM expired`;
  }

  async deleteOld(): Promise<number> {
    return this.prisma.$executeRaw`
      DELETE FROM device_tasks
       WHERE id IN (SELECT id FROM device_tasks
                     WHERE state = 'done' AND finished_at < now() - make_interval(hours => ${KEPT_HOURS}::int4)
                     ORDER BY finished_at LIMIT ${DELETED_PER_SWEEP} FOR UPDATE SKIP LOCKED)`;
  }
}
