import { Inject, Injectable } from '@nestjs/common';
import { newIdOf } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import { AUTH_METHODS, needsKey } from '../oauth/auth-methods.js';
import { hashClientSecret, newClientSecret } from '../oauth/client-secret.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import {
  canonicalCidrs,
  noAuthenticationKey,
  refuseForeignScopes,
  type Administrator,
} from './client-administrator.js';
import type { ClientBody } from './client-bodies.js';
import { countClient } from './count-client.js';
import { clientView, type ClientWithSecretView } from './client-view.js';

/** POST /v1/clients, and `client create` of the command line for a merchant that has none yet. */
@Injectable()
export class CreateClient {
  constructor(
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** @throws Problem 403 scope_not_held; 409 no_authentication_key */
  async execute(administrator: Administrator, body: ClientBody): Promise<ClientWithSecretView> {
    refuseForeignScopes(administrator, body.scopes);
    const { token_endpoint_auth_methods: authMethods = AUTH_METHODS } = body;
    // Keys belong to a client, so a new one has none yet.
    if (needsKey(authMethods)) throw noAuthenticationKey();
    const secret = newClientSecret(administrator.merchantId);
    const data = {
      id: newIdOf('cli', administrator.merchantId),
      merchantId: administrator.merchantId,
      name: body.name,
      secretHash: new Uint8Array(hashClientSecret(secret, this.settings.SECRETS_KEY)),
      scopes: [...body.scopes],
      ipPolicy: body.ip_policy,
      allowedCidrs: canonicalCidrs(body.allowed_cidrs ?? []),
      requireIdempotencyKey: body.require_idempotency_key ?? false,
      signingPolicy: body.signing_policy ?? 'auto',
      authMethods: [...authMethods],
    };
    const view = await this.changes.execute(administrator, async (tx) => {
      await countClient(tx, administrator.merchantId);
      const created = clientView(await tx.oauthClient.create({ data }));
      return { result: created, action: 'client.create', targetId: created.id, before: null, after: created };
    });
    return { ...view, client_secret: secret };
  }
}
