import { Inject, Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { AuditedChange } from '../../audit/audited-change.js';
import { hashClientSecret, newClientSecret } from '../oauth/client-secret.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { ownClient, type Administrator } from './client-administrator.js';
import type { RotateSecretBody } from './client-bodies.js';
import { clientView, type ClientWithSecretView, type OauthClientRow } from './client-view.js';
import { lockClient } from './lock-client.js';

const DEFAULT_OVERLAP_SECONDS = 86_400;

/** POST /v1/clients/{id}/secret: a new secret; the one until now stays good for a while, an older one does not. */
@Injectable()
export class RotateSecret {
  constructor(
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** @throws Problem 404; 403 scope_not_held; 409 own_client */
  async execute(administrator: Administrator, id: string, body: RotateSecretBody): Promise<ClientWithSecretView> {
    const { overlap_seconds: overlapSeconds = DEFAULT_OVERLAP_SECONDS, revoke_tokens: revokeTokens = false } = body;
    // If the answer were lost, the caller would have neither secret nor token.
    if (id === administrator.actor && revokeTokens && overlapSeconds === 0) {
      throw ownClient('The calling client would be left without any credentials if the answer were lost.');
    }
    const secret = newClientSecret(id);
    const hash = hashClientSecret(secret, this.settings.SECRETS_KEY);
    const view = await this.changes.execute(administrator, async (tx) => {
      const row = await lockClient(tx, administrator, id);
      const revoked = revokeTokens ? await revokeTokensOf(tx, id) : 0;
      const rotated = clientView(await replaceSecret(tx, id, { hash, overlapSeconds }));
      const after = { ...rotated, overlap_seconds: overlapSeconds, revoked_tokens: revoked };
      return { result: rotated, action: 'client.rotate_secret', targetId: id, before: clientView(row), after };
    });
    return { ...view, client_secret: secret };
  }
}

/** By the database's clock, which judges the end as well. */
async function replaceSecret(
  tx: Prisma.TransactionClient,
  id: string,
  { hash, overlapSeconds }: { hash: Buffer; overlapSeconds: number },
): Promise<OauthClientRow> {
  await tx.$executeRaw`
    UPDATE oauth_clients
       SET secret_hash = ${hash},
           previous_secret_hash = CASE WHEN ${overlapSeconds}::int4 > 0 THEN secret_hash END,
           previous_secret_expires_at =
             CASE WHEN ${overlapSeconds}::int4 > 0 THEN now() + make_interval(secs => ${overlapSeconds}::int4) END
     WHERE id = ${id}`;
  return tx.oauthClient.findUniqueOrThrow({ where: { id } });
}

function revokeTokensOf(tx: Prisma.TransactionClient, clientId: string): Promise<number> {
  return tx.$executeRaw`
    UPDATE oauth_tokens SET revoked_at = now()
     WHERE client_id = ${clientId} AND revoked_at IS NULL AND expires_at > now()`;
}
