import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { findUnfinished, hasUnpaid, writeDeviceEvent } from '#ledger';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { auditedDevice, lockDeviceRow, type LockedDeviceRow } from './device-rows.js';

/**
 * How long a device must have been drained or disabled. A gateway that missed the notice may route to it for five seconds
 * after that (the cache of PlaceDirectory), and the receipt is written a moment later; longer than both.
 */
const REST_SECONDS = 10;

/**
 * DELETE /v1/devices/{id}. Only when nothing depends on it any more. Its terminal is free for another device from then on,
 * so nothing may ever be sent from here again: the lane of a deleted device stops as that of a disabled one. A receipt that
 * a gateway wrote in spite of the rest (it stood still for ten seconds between choosing and writing) stays `accepted`, is
 * seen there, and can be cancelled.
 */
@Injectable()
export class DeleteDevice {
  constructor(private readonly changes: AuditedChange) {}

  /** @throws Problem 404; 409 device_not_at_rest, device_lane_not_empty */
  async execute(caller: Caller, deviceId: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const row = await lockDeviceRow(tx, caller.merchantId, deviceId);
      refuseRestless(row);
      await refuseDepended(tx, caller.merchantId, deviceId);
      await tx.$executeRaw`
        UPDATE devices SET deleted_at = now(), state = 'disabled', state_reason = 'deleted', state_since = now(),
                           poll_due_at = NULL, resend_due_at = NULL
         WHERE id = ${deviceId}`;
      await forgetDefaults(tx, deviceId);
      await tx.$executeRaw`UPDATE link_keys SET revoked_at = now() WHERE device_id = ${deviceId} AND revoked_at IS NULL`;
      // With them the API key that was entered for a link that was never made.
      await tx.$executeRaw`DELETE FROM link_enrolments WHERE device_id = ${deviceId} AND used_at IS NULL`;
      await writeDeviceEvent(tx, deviceId, 'deleted', 'deleted by a person');
      return { result: null, action: 'device.delete', targetId: deviceId, before: auditedDevice(row), after: null };
    });
  }
}

function refuseRestless({ resting_seconds: resting }: LockedDeviceRow): void {
  if (resting !== null && resting >= REST_SECONDS) return;
  const detail =
    resting === null
      ? `Drain it first, and delete it ${REST_SECONDS} seconds later.`
      : `It is at rest for ${Math.floor(resting)} seconds only; after ${REST_SECONDS} no gateway sends anything there.`;
  throw new Problem('device_not_at_rest', detail);
}

async function refuseDepended(tx: Prisma.TransactionClient, merchantId: string, deviceId: string): Promise<void> {
  const found = await findUnfinished(tx, deviceId);
  if (found.accepted)
    throw new Problem(
      'device_lane_not_empty',
      'Accepted receipts wait in its lane; wait until they are sent, or cancel them.',
    );
  if (await hasUnpaid(tx, { merchantId, deviceId })) {
    const detail =
      'A receipt gets into its lane as soon as it is paid; wait until it is sent or its payment has ended.';
    throw new Problem('device_lane_not_empty', detail);
  }
  if (found.unsettled) {
    const detail = 'It is not known of a receipt whether the register has it; it must be resolved first.';
    throw new Problem('device_lane_not_empty', detail);
  }
}

async function forgetDefaults(tx: Prisma.TransactionClient, deviceId: string): Promise<void> {
  await tx.$executeRaw`UPDATE branches SET default_device_id = NULL WHERE default_device_id = ${deviceId}`;
  await tx.$executeRaw`UPDATE cashiers SET default_device_id = NULL WHERE default_device_id = ${deviceId}`;
  await tx.$executeRaw`UPDATE device_groups SET default_device_id = NULL WHERE default_device_id = ${deviceId}`;
}
