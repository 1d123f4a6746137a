import { Injectable } from '@nestjs/common';
import { AuditedChange } from '../../audit/audited-change.js';
import { ownClient, type Administrator } from './client-administrator.js';
import { clientView, type ClientView } from './client-view.js';
import { countClient } from './count-client.js';
import { lockClient } from './lock-client.js';

/** POST /v1/clients/{id}/disable and /enable. Clients are never deleted: receipts and the trail name them. */
@Injectable()
export class SwitchClient {
  constructor(private readonly changes: AuditedChange) {}

  /** Its tokens are worth nothing on any gateway within a second. Again: nothing changes. @throws Problem 404; 403 scope_not_held; 409 own_client */
  async disable(administrator: Administrator, id: string): Promise<ClientView> {
    if (id === administrator.actor) throw ownClient('A client does not disable itself. Let another client do it.');
    return this.changes.execute(administrator, async (tx) => {
      const row = await lockClient(tx, administrator, id);
      const disabledAt = row.disabledAt ?? new Date();
      const view = clientView(await tx.oauthClient.update({ where: { id }, data: { disabledAt } }));
      return { result: view, action: 'client.disable', targetId: id, before: clientView(row), after: view };
    });
  }

  /** Tokens from before stay dead. Again: nothing changes. @throws Problem 404; 403 scope_not_held; 422 client_limit_reached */
  async enable(administrator: Administrator, id: string): Promise<ClientView> {
    return this.changes.execute(administrator, async (tx) => {
      const row = await lockClient(tx, administrator, id);
      if (row.disabledAt !== null) {
        await countClient(tx, administrator.merchantId);
        await tx.$executeRaw`
          UPDATE oauth_tokens SET revoked_at = now() WHERE client_id = ${id} AND revoked_at IS NULL AND expires_at > now()`;
      }
      const view = clientView(await tx.oauthClient.update({ where: { id }, data: { disabledAt: null } }));
      return { result: view, action: 'client.enable', targetId: id, before: clientView(row), after: view };
    });
  }
}
