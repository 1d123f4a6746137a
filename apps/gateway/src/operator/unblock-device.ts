import { Injectable } from '@nestjs/common';
import { wakeLane, writeDeviceEvent } from '#ledger';
import { LaneBell } from '#queue';
import { Problem } from '#problems';
import { AuditedChange } from '../audit/audited-change.js';
import { lockDevice, type DeviceCommand } from './lock-device.js';

const LIFTABLE: ReadonlySet<string> = new Set(['blocked', 'expired', 'unreachable']);

/**
 * POST /v1/operator/devices/{id}/unblock: the register has been mended, so it is asked now and not at the next turn of
 * its schedule. No state is assumed: it still reports itself whether it takes receipts. A settle time keeps running.
 */
@Injectable()
export class UnblockDevice {
  constructor(
    private readonly changes: AuditedChange,
    private readonly bell: LaneBell,
  ) {}

  /** @throws Problem 404; 409 device_not_blocked */
  async execute({ caller, deviceId, reason }: DeviceCommand): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const { state, state_reason } = await lockDevice(tx, caller.merchantId, deviceId);
      if (!LIFTABLE.has(state)) {
        const detail = `The device is ${state}; only a blocked, expired or unreachable one is unblocked.`;
        throw new Problem('device_not_blocked', detail);
      }
      await tx.$executeRaw`UPDATE devices SET state = 'online', state_reason = NULL, state_since = now() WHERE id = ${deviceId}`;
      await wakeLane(tx, deviceId);
      await writeDeviceEvent(tx, deviceId, 'online', `unblocked by an operator: ${reason}`);
      const before = { state, state_reason };
      return { result: null, action: 'device.unblock', targetId: deviceId, before, after: { state: 'online', reason } };
    });
    this.bell.ring(deviceId);
  }
}
