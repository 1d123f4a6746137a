import { setTimeout as delay } from 'node:timers/promises';
import type { DeviceTaskResult } from '#database';
import type { Logger } from '#runtime';
import type { DeviceTaskHandlers } from './device-task-handlers.js';
import type { ClaimedTask, DeviceTaskRepository } from './device-task.repository.js';

export interface DeviceTaskTiming {
  /** Tasks at the same time in one relay; each holds a call to a register, not a thread. */
  concurrency: number;
  /** Of them of one merchant. */
  share: number;
  /** Of them for merchants that have none. */
  reserved: number;
  leaseMs: number;
  /** How often a relay polls without a notice. */
  pollMs: number;
  /** How often old tasks are deleted. */
  sweepMs: number;
}

export const DEVICE_TASK_TIMING: DeviceTaskTiming = {
  concurrency: 32,
  share: 12,
  reserved: 4,
  leaseMs: 30_000,
  pollMs: 5_000,
  sweepMs: 60_000,
};

/**
 * Takes tasks, has their handlers do them, writes what came of it. A relay that dies leaves its tasks to the one that finds
 * their lease run out; a result that cannot be written is lost with this process, and the task is done again.
 */
export class DeviceTaskRunner {
  private readonly running = new Map<string, Promise<void>>();
  private readonly abort = new AbortController();
  private loops: Promise<unknown> | null = null;
  private claiming: Promise<void> | null = null;
  private wokenAgain = false;
  private nextSweepAt = 0;

  constructor(
    private readonly tasks: DeviceTaskRepository,
    private readonly handlers: DeviceTaskHandlers,
    private readonly logger: Logger,
    private readonly timing: DeviceTaskTiming = DEVICE_TASK_TIMING,
  ) {}

  start(): void {
    this.loops ??= Promise.all([
      this.every(this.timing.pollMs, () => this.poll()),
      this.every(this.timing.leaseMs / 3, () => this.tasks.extendLeases([...this.running.keys()], this.timing.leaseMs)),
    ]);
  }

  /** Begins nothing new and waits for what is in hand. */
  async stop(): Promise<void> {
    this.abort.abort();
    await this.loops;
    await Promise.allSettled([this.claiming, ...this.running.values()]);
  }

  /** A task may be waiting. Calls that come during a poll become one more poll. */
  wake(): void {
    this.wokenAgain = true;
    this.claiming ??= this.claimAll()
      .catch((error: unknown) =>
        this.logger.warn({ err: error }, 'device tasks could not be taken; read again shortly'),
      )
      .finally(() => {
        this.claiming = null;
      });
  }

  private async claimAll(): Promise<void> {
    while (this.wokenAgain && !this.abort.signal.aborted) {
      this.wokenAgain = false;
      const free = this.timing.concurrency - this.running.size;
      const claimed = await this.tasks.claim(this.handlers.kinds, { ...this.timing, free });
      for (const task of claimed) this.begin(task);
    }
  }

  private begin(task: ClaimedTask): void {
    const run = this.perform(task).finally(() => {
      this.running.delete(task.id);
      // Another one may wait for a place, or for its merchant's share.
      this.wake();
    });
    this.running.set(task.id, run);
  }

  private async perform(task: ClaimedTask): Promise<void> {
    const result = await this.resultOf(task);
    try {
      await this.tasks.finish(task.id, result);
    } catch (error) {
      this.logger.error({ err: error, task_id: task.id }, 'result of a device task lost; it will be done again');
    }
  }

  private async resultOf(task: ClaimedTask): Promise<DeviceTaskResult> {
    try {
      const handler = this.handlers.of(task.kind);
      if (!handler) throw new Error(`no handler for ${task.kind}`);
      return await handler.run(task);
    } catch (error) {
      this.logger.error(
        { err: error, task_id: task.id, device_id: task.deviceId, kind: task.kind },
        'device task failed',
      );
      return { kind: 'failed', code: 'internal', detail: 'The relay failed; its log says why.' };
    }
  }

  private async poll(): Promise<void> {
    this.wake();
    await this.tasks.closeExpired();
    if (performance.now() < this.nextSweepAt) return;
    this.nextSweepAt = performance.now() + this.timing.sweepMs;
    await this.tasks.deleteOld();
  }

  private async every(intervalMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.abort;
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        this.logger.warn({ err: error }, 'device tasks: the database does not answer; tried again shortly');
      }
      const jitter = 0.75 + Math.random() / 2;
      await delay(intervalMs * jitter, undefined, { signal, ref: false }).catch(() => 'stopped');
    }
  }
}
