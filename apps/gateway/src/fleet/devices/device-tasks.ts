import { Inject, Injectable } from '@nestjs/common';
import {
  DEVICE_TASK_CHANNEL,
  DEVICE_TASK_DONE_CHANNEL,
  type DeviceIntroduction,
  type DeviceTaskKind,
  type DeviceTaskResult,
  type InspectParams,
  PrismaService,
  type DatabaseAddresses,
} from '#database';
import { Problem } from '#problems';
import { newId, type Logger } from '#runtime';
import { NoticeReceiver } from '../../notice-receiver.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { pendingProblem, taskProblem } from './task-problems.js';

export interface TaskRequest {
  deviceId: string;
  kind: DeviceTaskKind;
  params?: Readonly<Record<string, unknown>>;
  /** For the audit trail. */
  actor: string;
  /** How long the caller waits. */
  waitMs: number;
  /** Until when a relay may begin it, from now; default: as long as the caller waits. */
  expiresAfterMs?: number;
}

export type TaskAnswer =
  | { kind: 'done'; taskId: string; result: DeviceTaskResult }
  /** It may still be done. */
  | { kind: 'pending'; taskId: string };

export interface TaskRow {
  id: string;
  kind: DeviceTaskKind;
  state: 'waiting' | 'running' | 'done';
  result: DeviceTaskResult | null;
  created_at: Date;
  finished_at: Date | null;
}

/** Four calls with their deadlines, and a relay's slow poll when the notice was lost. */
const INSPECTION_WAIT_MS = 30_000;
/** Unfinished tasks of one device: more only queue up behind the same register. */
const MAX_UNFINISHED_PER_DEVICE = 8;

/**
 * Asks relays to do something with a register, through rows of `device_tasks`. Notices wake both sides; a lost one costs
 * time alone: relays poll by themselves, and the row is read when the caller's time is over.
 */
@Injectable()
export class DeviceTasks extends NoticeReceiver {
  private readonly waiters = new Map<string, () => void>();
  private releasing = false;

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) settings: DatabaseAddresses,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(
      settings,
      {
        channel: DEVICE_TASK_DONE_CHANNEL,
        onNotice: (taskId) => this.waiters.get(taskId)?.(),
        onListening: () => this.wakeFinished(),
      },
      logger,
    );
  }

  /** The program is about to stop: every waiting caller is answered now. */
  releaseAll(): void {
    this.releasing = true;
    for (const wake of this.waiters.values()) wake();
  }

  /** @throws Problem 429 when too many tasks of the device are unfinished */
  async ask(request: TaskRequest): Promise<TaskAnswer> {
    const taskId = newId('tsk');
    // Waited for before it is there, so that no answer can come too early.
    const finished = this.wait(taskId, request.waitMs);
    try {
      await this.insert(taskId, request);
      await finished.promise;
    } finally {
      finished.forget();
    }
    const [row] = await this.prisma.$queryRaw<Pick<TaskRow, 'state' | 'result'>[]>`
      SELECT state, result FROM device_tasks WHERE id = ${taskId}`;
    return row?.result ? { kind: 'done', taskId, result: row.result } : { kind: 'pending', taskId };
  }

  /** Who a register is. @throws Problem 422 when it refuses or cannot be asked; 429; 503 while no relay answers */
  async inspect(deviceId: string, actor: string, params: InspectParams = {}): Promise<DeviceIntroduction> {
    const request = { deviceId, kind: 'inspect', params: { ...params }, actor, waitMs: INSPECTION_WAIT_MS } as const;
    const answer = await this.ask(request);
    if (answer.kind === 'pending') throw pendingProblem();
    if (answer.result.kind === 'failed') throw taskProblem(answer.result, true);
    return answer.result.value as unknown as DeviceIntroduction;
  }

  /** Null: no such task of this merchant's device. */
  async find(merchantId: string, deviceId: string, taskId: string): Promise<TaskRow | null> {
    const [row] = await this.prisma.$queryRaw<TaskRow[]>`
      SELECT t.id, t.kind, t.state, t.result, t.created_at, t.finished_at
        FROM device_tasks t JOIN devices d ON d.id = t.device_id
       WHERE t.id = ${taskId} AND t.device_id = ${deviceId} AND d.merchant_id = ${merchantId}
         AND d.deleted_at IS NULL AND d.registered_at IS NOT NULL`;
    return row ?? null;
  }

  private async insert(taskId: string, request: TaskRequest): Promise<void> {
    const { deviceId, kind, params = {}, actor, waitMs, expiresAfterMs = waitMs } = request;
    const [row] = await this.prisma.$queryRaw<{ inserted: number }[]>`
      WITH inserted AS (
        INSERT INTO device_tasks (id, device_id, kind, params, actor, expires_at)
        SELECT ${taskId}, ${deviceId}, ${kind}, ${JSON.stringify(params)}::jsonb, ${actor},
               now() + make_interval(secs => ${expiresAfterMs / 1_000}::float8)
         WHERE (SELECT count(*) FROM device_tasks WHERE device_id = ${deviceId} AND state <> 'done')
               < ${MAX_UNFINISHED_PER_DEVICE}::int4
        RETURNING id
      ), notified AS (SELECT pg_notify(${DEVICE_TASK_CHANNEL}, id) FROM inserted)
      SELECT count(*)::int4 AS inserted FROM notified`;
    if (row?.inserted === 1) return;
    throw new Problem('too_many_requests', 'The register has not finished what it was asked before.', {
      retryAfterSeconds: 5,
    });
  }

  private wait(taskId: string, waitMs: number): { promise: Promise<void>; forget(): void } {
    let timer: NodeJS.Timeout | undefined;
    const promise = new Promise<void>((resolve) => {
      if (this.releasing) return resolve();
      timer = setTimeout(resolve, waitMs);
      this.waiters.set(taskId, resolve);
    });
    const forget = (): void => {
      clearTimeout(timer);
      this.waiters.delete(taskId);
    };
    return { promise, forget };
  }

  private async wakeFinished(): Promise<void> {
    const ids = [...this.waiters.keys()];
    if (ids.length === 0) return;
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM device_tasks WHERE id = ANY(${ids}::text[]) AND state = 'done'`;
    for (const { id } of rows) this.waiters.get(id)?.();
  }
}
