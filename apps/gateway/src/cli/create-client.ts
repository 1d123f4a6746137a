import { Inject, Injectable } from '@nestjs/common';
import { newId } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import type { Scope } from '../http/scopes.js';
import { hashClientSecret, newClientSecret } from '../oauth/client-secret.js';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';

export interface NewClient {
  name: string;
  scopes: readonly Scope[];
  requireIdempotencyKey: boolean;
}

export interface CreatedClient {
  client_id: string;
  /** Shown here and never again. */
  client_secret: string;
  name: string;
  scopes: readonly Scope[];
  require_idempotency_key: boolean;
}

/** A merchant's OAuth client: who has none yet cannot make one by the API. */
@Injectable()
export class CreateClient {
  constructor(
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  async execute(caller: Caller, client: NewClient): Promise<CreatedClient> {
    const { name, requireIdempotencyKey } = client;
    const id = newId('cli');
    const secret = newClientSecret();
    const secretHash = new Uint8Array(hashClientSecret(secret, this.settings.SECRETS_KEY));
    const scopes = [...client.scopes];
    await this.changes.execute(caller, async (tx) => {
      const { merchantId } = caller;
      await tx.oauthClient.create({ data: { id, merchantId, name, secretHash, scopes, requireIdempotencyKey } });
      const after = { name, scopes, require_idempotency_key: requireIdempotencyKey };
      return { result: null, action: 'client.create', targetId: id, before: null, after };
    });
    return { client_id: id, client_secret: secret, name, scopes, require_idempotency_key: requireIdempotencyKey };
  }
}
