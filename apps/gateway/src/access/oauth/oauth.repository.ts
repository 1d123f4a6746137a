import { Injectable } from '@nestjs/common';
import { SalesDatabase } from '#database';
import type { AuthenticationKey } from './client-assertion.js';

export interface ClientRow {
  id: string;
  merchantId: string;
  secretHash: Uint8Array;
  /** The secret before the last rotation, while it is still good. */
  previousSecretHash: Uint8Array | null;
  scopes: string[];
  disabled: boolean;
  /** Ways of authentication that are let in. */
  authMethods: string[];
  /** Null: from anywhere. */
  allowedCidrs: string[] | null;
}

export interface LiveTokenRow {
  clientId: string;
  merchantId: string;
  /** Those of the token that its client still has. */
  scopes: string[];
  requireIdempotencyKey: boolean;
  /** Null: from anywhere. */
  allowedCidrs: string[] | null;
  /** Until it expires, by the database's clock. */
  remainingMs: number;
  /** Since 1970. */
  issuedAtMs: number;
  expiresAtMs: number;
}

/** OAuth clients and tokens in PostgreSQL. Times are the database's: all instances agree on what has expired. */
@Injectable()
export class OauthRepository {
  constructor(private readonly prisma: SalesDatabase) {}

  async findClient(id: string): Promise<ClientRow | null> {
    const rows = await this.prisma.$queryRaw<ClientRow[]>`
      SELECT id, merchant_id AS "merchantId", secret_hash AS "secretHash", scopes, disabled_at IS NOT NULL AS disabled,
             token_endpoint_auth_methods AS "authMethods",
             CASE WHEN previous_secret_expires_at > now() THEN previous_secret_hash END AS "previousSecretHash",
             CASE WHEN ip_policy = 'listed' THEN allowed_cidrs END AS "allowedCidrs"
        FROM oauth_clients WHERE id = ${id}`;
    return rows[0] ?? null;
  }

  /** Those of private_key_jwt that are in force. */
  async authenticationKeys(clientId: string): Promise<AuthenticationKey[]> {
    return this.prisma.$queryRaw<AuthenticationKey[]>`
      SELECT id, algorithm, public_key AS "publicKey" FROM client_keys
       WHERE client_id = ${clientId} AND use = 'authentication' AND disabled_at IS NULL AND public_key IS NOT NULL
       ORDER BY id`;
  }

  /**
   * Stores an assertion for as long as it could be used.
   * @param assertion `usableUntil`: seconds since 1970
   * @returns false: it was used before
   */
  async takeAssertion(assertion: { clientId: string; jtiHash: Buffer; usableUntil: number }): Promise<boolean> {
    const { clientId, jtiHash, usableUntil } = assertion;
    const taken = await this.prisma.$executeRaw`
      INSERT INTO client_assertions (client_id, jti_hash, expires_at)
      VALUES (${clientId}, ${jtiHash}, to_timestamp(${usableUntil}::float8)) ON CONFLICT DO NOTHING`;
    return taken === 1;
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
      SELECT c.id AS "clientId", c.merchant_id AS "merchantId",
             ARRAY(SELECT scope FROM unnest(t.scopes) AS scope WHERE scope = ANY (c.scopes)) AS scopes,
             c.require_idempotency_key AS "requireIdempotencyKey",
             CASE WHEN c.ip_policy = 'listed' THEN c.allowed_cidrs END AS "allowedCidrs",
             (extract(epoch FROM t.expires_at - now()) * 1000)::float8 AS "remainingMs",
             (extract(epoch FROM t.issued_at) * 1000)::float8 AS "issuedAtMs",
             (extract(epoch FROM t.expires_at) * 1000)::float8 AS "expiresAtMs"
        FROM oauth_tokens t JOIN oauth_clients c ON c.id = t.client_id
       WHERE t.token_hash = ${hash} AND t.expires_at > now() AND t.revoked_at IS NULL AND c.disabled_at IS NULL`;
    return rows[0] ?? null;
  }

  /** Only the client's own. */
  async revokeToken(hash: Buffer, clientId: string): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE oauth_tokens SET revoked_at = now()
       WHERE token_hash = ${hash} AND client_id = ${clientId} AND revoked_at IS NULL`;
  }

  /** @returns how many were deleted */
  deleteExpiredTokens(): Promise<number> {
    return this.prisma.$executeRaw`DELETE FROM oauth_tokens WHERE expires_at < now() - interval '1 day'`;
  }

  /** An hour late: the clock of a gateway that checks `exp` may differ from the database's. @returns how many were deleted */
  deleteExpiredAssertions(): Promise<number> {
    return this.prisma.$executeRaw`DELETE FROM client_assertions WHERE expires_at < now() - interval '1 hour'`;
  }
}
