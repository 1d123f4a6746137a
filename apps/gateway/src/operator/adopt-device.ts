import { Injectable } from '@nestjs/common';
import { forgetRegister, holdBackUnproven, lockRestore, writeDeviceEvent } from '#ledger';
import { LaneBell } from '#queue';
import { Problem } from '#problems';
import { AuditedChange } from '../audit/audited-change.js';
import { lockDevice, type DeviceCommand, type LockedDevice } from './lock-device.js';

/**
 * POST /v1/operator/devices/{id}/adopt: the module that was found in a device is the one that belongs there from now on.
 * All that was known of the one before is forgotten, its numbers say nothing about this one; the lane begins with who
 * it meets. An open attempt must be parked first: what its register did can no longer be found out by asking. For the
 * same reason receipts that wait, and that an earlier attempt may have registered on the old module, or that are older than a
 * restore of the database, are held back as `unknown`: under its key the old module would have known them, this one does not (docs/adr/0016-adopting-a-module.md).
 */
@Injectable()
export class AdoptDevice {
  constructor(
    private readonly changes: AuditedChange,
    private readonly bell: LaneBell,
  ) {}

  /** @throws Problem 404; 409 device_not_replaced, attempt_open */
  async execute({ caller, deviceId, reason, evidence }: DeviceCommand): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      await lockRestore(tx);
      const device = await lockDevice(tx, caller.merchantId, deviceId);
      refuseUnlessFree(device);
      // Another of the same app may still have a request of ours asleep in its backlog.
      const mustSettle = device.journal_id === null;
      await tx.$executeRaw`
        UPDATE devices SET state = 'online', state_reason = NULL, state_since = now(), terminal_id = NULL, journal_id = NULL,
                           capabilities = '{}', poll_due_at = NULL
         WHERE id = ${deviceId} AND state IN ('replaced', 'claimed_elsewhere')`;
      await forgetRegister(tx, deviceId, { mustSettle });
      // Each has an attempt again that a person decides.
      const heldBack = await holdBackUnproven(tx, deviceId, HELD_BACK);
      await writeDeviceEvent(tx, deviceId, 'online', `adopted by an operator: ${reason}`);
      const { before, after } = recordOf(device, reason, mustSettle);
      const record = { before, after: { ...after, held_back: heldBack, ...(evidence && { evidence }) } };
      return { result: null, action: 'device.adopt', targetId: deviceId, ...record };
    });
    this.bell.ring(deviceId);
  }
}

const HELD_BACK =
  'the fiscal module was replaced before the receipt was sent again: whether the old one has it cannot be asked any more';

function refuseUnlessFree(device: LockedDevice): void {
  // A module that another merchant holds may have been exchanged for one of this merchant's.
  if (device.state !== 'replaced' && device.state !== 'claimed_elsewhere') {
    throw new Problem('device_not_replaced', `The device is ${device.state}; only a replaced one is adopted.`);
  }
  if (device.open_attempt_id !== null) {
    const detail = `Attempt ${device.open_attempt_id} is open on this device; park it first.`;
    throw new Problem('attempt_open', detail);
  }
}

function recordOf(
  device: LockedDevice,
  reason: string,
  mustSettle: boolean,
): { before: Record<string, unknown>; after: Record<string, unknown> } {
  const { state, state_reason, terminal_id, journal_id, baseline } = device;
  return {
    before: { state, state_reason, terminal_id, journal_id, baseline },
    after: { state: 'online', terminal_id: null, journal_id: null, must_settle: mustSettle, reason },
  };
}
