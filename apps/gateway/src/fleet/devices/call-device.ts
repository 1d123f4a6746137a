import { Injectable } from '@nestjs/common';
import type { DeviceTaskKind } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import type { DeviceRow } from './device.repository.js';
import { DeviceTasks } from './device-tasks.js';
import { snakeCased } from '../../http/snake-cased.js';
import { taskProblem } from './task-problems.js';

export interface CallView {
  task_id: string;
  kind: DeviceTaskKind;
  state: 'pending' | 'done';
  /** What the register answered; null = not yet. */
  result: Record<string, unknown> | null;
}

/** Longer than a register needs while it tries dead OFD servers; shorter than proxies wait. */
const WAIT_MS = 25_000;
/** A shift that is being opened or closed is not given up because its caller has gone. */
const EXPIRES_AFTER_MS = 60_000;
/** Kinds that change something at the register: on the trail. */
const AUDITED: ReadonlySet<DeviceTaskKind> = new Set(['shift_open', 'shift_close']);

/**
 * Has a relay ask a register something and waits for it: `done` with what it answered, or `pending` when it takes longer;
 * it is done all the same then, and GET …/tasks/{task_id} says what came of it.
 */
@Injectable()
export class CallDevice {
  constructor(
    private readonly tasks: DeviceTasks,
    private readonly changes: AuditedChange,
  ) {}

  /** @throws Problem 409 device_disabled, device_not_enrolled, device_claimed_elsewhere; 422 when the register refuses; 429; 503 when it is away */
  async execute(caller: Caller, device: DeviceRow, kind: DeviceTaskKind): Promise<CallView> {
    refuseUnfit(device, kind);
    if (AUDITED.has(kind)) await this.record(caller, device.id, kind);
    const answer = await this.tasks.ask({
      ...{ deviceId: device.id, kind, actor: caller.actor, waitMs: WAIT_MS, expiresAfterMs: EXPIRES_AFTER_MS },
    });
    if (answer.kind === 'pending') return { task_id: answer.taskId, kind, state: 'pending', result: null };
    if (answer.result.kind === 'failed') throw taskProblem(answer.result, false);
    return { task_id: answer.taskId, kind, state: 'done', result: snakeCased(answer.result.value) };
  }

  /** Written before the call: afterwards the process may be gone. */
  private async record(caller: Caller, deviceId: string, kind: DeviceTaskKind): Promise<void> {
    const record = { action: `device.${kind}`, targetId: deviceId, before: null, after: null };
    await this.changes.execute(caller, () => Promise.resolve({ result: null, ...record }));
  }
}

function refuseUnfit({ state, transport, terminal_id: terminalId }: DeviceRow, kind: DeviceTaskKind): void {
  if (state === 'claimed_elsewhere' && AUDITED.has(kind))
    throw new Problem('device_claimed_elsewhere', 'Prove first that the fiscal module is here.');
  if (state === 'disabled') throw new Problem('device_disabled', 'It is disabled; enable it first.');
  if (transport === 'link' && terminalId === null)
    throw new Problem('device_not_enrolled', 'It has not dialled in yet and cannot be asked anything.');
}
