import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import { notFound } from '../../http/own-id.js';
import { clientKeyView } from './client-key-view.js';
import { ownClient, type Administrator } from '../clients/client-administrator.js';
import { lockClient } from '../clients/lock-client.js';
import { needsKey } from '../oauth/auth-methods.js';

/** DELETE /v1/clients/{id}/keys/{key}: it verifies nothing any more, within a second on every gateway. The row stays. */
@Injectable()
export class DisableClientKey {
  constructor(private readonly changes: AuditedChange) {}

  /** Again: nothing changes. @throws Problem 404; 403 scope_not_held; 409 last_signing_key, own_client: the caller's only way in */
  async execute(administrator: Administrator, clientId: string, keyId: string): Promise<void> {
    await this.changes.execute(administrator, async (tx) => {
      const client = await lockClient(tx, administrator, clientId);
      const row = await tx.clientKey.findFirst({ where: { id: keyId, clientId } });
      if (!row) throw notFound('key');
      const others = await tx.clientKey.count({
        where: { clientId, use: row.use, disabledAt: null, id: { not: keyId } },
      });
      const isOwnLast = clientId === administrator.actor && row.disabledAt === null && others === 0;
      if (isOwnLast && row.use === 'authentication' && needsKey(client.authMethods)) {
        throw ownClient('The calling client could not get a token without this key. Register another one first.');
      }
      if (isOwnLast && row.use === 'signing' && client.signingPolicy !== 'off') {
        throw new Problem(
          'last_signing_key',
          'Without it you could write nothing, not even a new key. Register another one first.',
        );
      }
      const disabledAt = row.disabledAt ?? new Date();
      const after = await tx.clientKey.update({ where: { id: keyId }, data: { disabledAt } });
      return {
        result: null,
        action: 'client_key.disable',
        targetId: clientId,
        before: clientKeyView(row),
        after: clientKeyView(after),
      };
    });
  }
}
