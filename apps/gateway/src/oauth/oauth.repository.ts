import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';

export interface ClientRow {
  id: string;
  secretHash: Uint8Array;
  scopes: string[];
  disabled: boolean;
}

export interface LiveTokenRow {
  clientId: string;
  merchantId: string;
  scopes: string[];
  requireIdempotencyKey: boolean;
  /** Until it expires, by the database's clock. */
  remainingMs: number;
}

/** OAuth clients and tokens in PostgreSQL. Times are the database's: all instances agree on what has expired. */
@Injectable()
export class OauthRepository {
  constructor(private readonly prisma: PrismaService) {}

  async findClient(id: string): Promise<ClientRow | null> {
    const rows = await this.prisma.$queryRaw<ClientRow[]>`
      SELECT id, secret_hash AS "secretHash", scopes, disabled_at IS NOT NULL AS disabled
        FROM oauth_clients WHERE id = ${id}`;
    return rows[0] ?? null;
  }

  async insertToken(token: {
    hash: Buffer;
    clientId: string;
    scopes: readonly string[];
    seconds: number;
  }): Promise<void> {
    await this.prisma.$executeRaw`
      INSERT INTO oauth_tokens (token_hash, client_id, scopes, issued_at, expires_at)
      VALUES (${token.hash}, ${token.clientId}, ${[...token.scopes]}, now(), now() + make_interval(secs => ${token.seconds}))`;
  }

  /** The token if it may be used now: known, not expired, not revoked, its client not disabled. */
  async findLiveToken(hash: Buffer): Promise<LiveTokenRow | null> {
    const rows = await this.prisma.$queryRaw<LiveTokenRow[]>`
      SELECT c.id AS "clientId", c.merchant_id AS "merchantId", t.scopes,
             c.require_idempotency_key AS "requireIdempotencyKey",
             (extract(epoch FROM t.expires_at - now()) * 1000)::float8 AS "remainingMs"
        FROM oauth_tokens t JOIN oauth_clients c ON c.id = t.client_id
       WHERE t.token_hash = ${hash} AND t.expires_at > now() AND t.revoked_at IS NULL AND c.disabled_at IS NULL`;
    return rows[0] ?? null;
  }

  /** @returns how many were deleted */
  deleteExpiredTokens(): Promise<number> {
    return this.prisma.$executeRaw`DELETE FROM oauth_tokens WHERE expires_at < now() - interval '1 day'`;
  }
}
