import type { PrismaService } from '#database';
import { DEVICE_TASK_DONE_CHANNEL, type DeviceTaskKind, type DeviceTaskResult } from '#database';
import type { DeviceTask } from './device-task.js';

export interface ClaimedTask extends DeviceTask {
  kind: DeviceTaskKind;
}

/** A done task is kept for this long, for whoever asks late and for support. */
const KEPT_HOURS = 24;
const DELETED_PER_SWEEP = 500;
const EXPIRED_PER_SWEEP = 100;

/** The rows of `device_tasks`, by the database's clock. Every move is one conditional statement. */
export class DeviceTaskRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly relayId: string,
  ) {}

  /** Takes waiting tasks, oldest first, and those whose relay let its lease run out. */
  async claim(kinds: readonly DeviceTaskKind[], limit: number, leaseMs: number): Promise<ClaimedTask[]> {
    if (kinds.length === 0 || limit <= 0) return [];
    const rows = await this.prisma.$queryRaw<
      { id: string; device_id: string; kind: DeviceTaskKind; params: unknown; actor: string }[]
    >`
      UPDATE device_tasks SET state = 'running', relay_id = ${this.relayId},
                              lease_until = now() + make_interval(secs => ${leaseMs / 1_000})
       WHERE id IN (SELECT id FROM device_tasks
                     WHERE state <> 'done' AND (state = 'waiting' OR lease_until < now())
                       AND expires_at > now() AND kind = ANY(${[...kinds]}::text[])
                     ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
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
   * Writes the result and tells who waits for it. Whoever had the task taken from him may still answer it: the first
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

  /** Closes what nobody began in time, or what its relay left lying after its caller had gone. */
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
