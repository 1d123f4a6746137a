import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, webhookSecretOwner, type Prisma } from '#database';
import { open, seal, type Keyring } from '#secrets';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { newWebhookSecret } from './sign-webhook.js';

type Tx = Pick<Prisma.TransactionClient, '$executeRaw' | '$queryRaw'>;

interface SecretRow {
  secret_sealed: Uint8Array;
  previous_sealed: Uint8Array | null;
}

/** Signing secrets of endpoints and, by the merchant's id, of callbacks. Sealed in the database, shown once. */
@Injectable()
export class WebhookSecrets {
  private readonly keyring: Keyring;

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) { SECRETS_KEY }: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {
    this.keyring = SECRETS_KEY;
  }

  /**
   * A new secret; the one before signs beside it for a while.
   * @returns the secret, to be shown once, and until when the one before is valid
   */
  async replace(
    tx: Tx,
    ownerId: string,
    overlapHours: number,
  ): Promise<{ secret: string; previousUntil: Date | null }> {
    const secret = newWebhookSecret();
    const sealed = seal(secret, webhookSecretOwner(ownerId), this.keyring);
    const [row] = await tx.$queryRaw<{ previous_until: Date | null }[]>`
      INSERT INTO webhook_secrets AS s (owner_id, secret_sealed) VALUES (${ownerId}, ${sealed})
      ON CONFLICT (owner_id) DO UPDATE
        SET secret_sealed = EXCLUDED.secret_sealed, previous_sealed = s.secret_sealed, created_at = now(),
            previous_until = now() + make_interval(hours => ${overlapHours}::int4)
      RETURNING previous_until`;
    return { secret, previousUntil: row?.previous_until ?? null };
  }

  /** The secrets that sign now, the present one first; none: no secret has been shown yet, so nothing may be sent. */
  async signing(ownerId: string): Promise<string[]> {
    const row = await this.find(ownerId);
    if (!row) return [];
    const owner = webhookSecretOwner(ownerId);
    return [row.secret_sealed, row.previous_sealed].flatMap((sealed) =>
      sealed ? [open(sealed, owner, this.keyring)] : [],
    );
  }

  private async find(ownerId: string): Promise<SecretRow | undefined> {
    const [row] = await this.prisma.$queryRaw<SecretRow[]>`
      SELECT secret_sealed, CASE WHEN previous_until > now() THEN previous_sealed END AS previous_sealed
        FROM webhook_secrets WHERE owner_id = ${ownerId}`;
    return row;
  }
}
