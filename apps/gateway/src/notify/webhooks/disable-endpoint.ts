import { Injectable } from '@nestjs/common';
import { writeEvent } from '#ledger';
import { newId } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';

/** Stops sending to an endpoint that does not want it or has been away for too long; an event reports it. */
@Injectable()
export class DisableEndpoint {
  constructor(private readonly changes: AuditedChange) {}

  /** What waits stays and goes out when the endpoint is enabled again. One that has moved meanwhile stays: another address has answered. */
  async execute(endpoint: { id: string; merchant_id: string; url: string }, reason: string): Promise<void> {
    const { id, merchant_id: merchantId } = endpoint;
    const caller = { merchantId, actor: 'gateway', address: null, requestId: newId('req') };
    await this.changes.execute(caller, async (tx) => {
      const disabled = await tx.$executeRaw`
        UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = ${reason}, due_at = NULL, lease_until = NULL
         WHERE id = ${id} AND disabled_at IS NULL AND url = ${endpoint.url}`;
      if (disabled === 0) return { result: null, action: null };
      const data = { webhook_id: id, url: endpoint.url, reason };
      await writeEvent(tx, { merchantId, type: 'webhook.disabled', subjectId: id, data });
      const after = { enabled: false, reason };
      return { result: null, action: 'webhook.disable', targetId: id, before: { enabled: true }, after };
    });
  }
}
