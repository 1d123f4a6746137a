import { Injectable } from '@nestjs/common';
import { AuditedChange } from '../audit/audited-change.js';
import { given } from '../places/place-rules.js';
import {
  callerOf,
  canonicalCidrs,
  refuseForeignScopes,
  refuseOwnLockout,
  type Administrator,
} from './client-administrator.js';
import type { ClientPatch } from './client-bodies.js';
import { clientView, type ClientView } from './client-view.js';
import { lockClient } from './lock-client.js';

/** PATCH /v1/clients/{id}: in force on all gateways within a second, also for tokens that are out already. */
@Injectable()
export class ChangeClient {
  constructor(private readonly changes: AuditedChange) {}

  /** @throws Problem 404; 403 scope_not_held; 409 own_client */
  async execute(administrator: Administrator, id: string, patch: ClientPatch): Promise<ClientView> {
    return this.changes.execute(callerOf(administrator), async (tx) => {
      const row = await lockClient(tx, administrator.merchantId, id);
      if (patch.scopes) refuseForeignScopes(administrator, patch.scopes, row.scopes);
      const data = given({
        name: patch.name,
        scopes: patch.scopes,
        ipPolicy: patch.ip_policy,
        allowedCidrs: patch.allowed_cidrs && canonicalCidrs(patch.allowed_cidrs),
        requireIdempotencyKey: patch.require_idempotency_key,
        signingPolicy: patch.signing_policy,
      });
      refuseOwnLockout(administrator, id, {
        scopes: patch.scopes ?? row.scopes,
        ipPolicy: patch.ip_policy ?? row.ipPolicy,
        allowedCidrs: patch.allowed_cidrs ?? row.allowedCidrs,
        signingPolicy: patch.signing_policy ?? row.signingPolicy,
        hasSigningKey: (await tx.clientKey.count({ where: { clientId: id, use: 'signing', disabledAt: null } })) > 0,
      });
      const view = clientView(await tx.oauthClient.update({ where: { id }, data }));
      return { result: view, action: 'client.change', targetId: id, before: clientView(row), after: view };
    });
  }
}
