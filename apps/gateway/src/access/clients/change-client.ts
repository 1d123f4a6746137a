import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { AuditedChange } from '../../audit/audited-change.js';
import { AUTH_METHODS, needsKey } from '../oauth/auth-methods.js';
import { given } from '../../http/given.js';
import {
  canonicalCidrs,
  noAuthenticationKey,
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

  /** @throws Problem 404; 403 scope_not_held; 409 own_client, no_authentication_key */
  async execute(administrator: Administrator, id: string, patch: ClientPatch): Promise<ClientView> {
    return this.changes.execute(administrator, async (tx) => {
      const row = await lockClient(tx, administrator, id);
      if (patch.scopes) refuseForeignScopes(administrator, patch.scopes, row.scopes);
      const data = given({
        name: patch.name,
        scopes: patch.scopes,
        ipPolicy: patch.ip_policy,
        allowedCidrs: patch.allowed_cidrs && canonicalCidrs(patch.allowed_cidrs),
        requireIdempotencyKey: patch.require_idempotency_key,
        signingPolicy: patch.signing_policy,
        authMethods: patch.token_endpoint_auth_methods,
      });
      if (needsKey(patch.token_endpoint_auth_methods ?? AUTH_METHODS)) await refuseWithoutKey(tx, id);
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

/** The client's row is locked: no key goes in between. @throws Problem 409 no_authentication_key */
async function refuseWithoutKey(tx: Prisma.TransactionClient, clientId: string): Promise<void> {
  const keys = await tx.clientKey.count({ where: { clientId, use: 'authentication', disabledAt: null } });
  if (keys === 0) throw noAuthenticationKey();
}
