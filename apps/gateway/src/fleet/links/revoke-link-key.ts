import { Injectable } from '@nestjs/common';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { lockLinkedDevice } from './lock-linked-device.js';

/**
 * DELETE /v1/devices/{id}/link-key: the register's key and its open code are worth nothing from the commit on. The relay
 * that holds its link is notified with the commit (trigger of link_keys) and cuts it.
 */
@Injectable()
export class RevokeLinkKey {
  constructor(private readonly changes: AuditedChange) {}

  /** Again: nothing changes. @throws Problem 404; 409 device_not_linked */
  async execute(caller: Caller, deviceId: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      await lockLinkedDevice(tx, caller.merchantId, deviceId);
      const keys = await tx.$queryRaw<{ id: string }[]>`
        UPDATE link_keys SET revoked_at = now() WHERE device_id = ${deviceId} AND revoked_at IS NULL RETURNING id`;
      const codes = await tx.$executeRaw`
        DELETE FROM link_enrolments WHERE device_id = ${deviceId} AND used_at IS NULL`;
      const before = { keys: keys.map(({ id }) => id), open_codes: codes };
      const after = { keys: [], open_codes: 0 };
      return { result: null, action: 'device.link_revoke', targetId: deviceId, before, after };
    });
  }
}
