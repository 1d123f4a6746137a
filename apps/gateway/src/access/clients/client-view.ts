import type { Prisma } from '#database';
import type { IpPolicy, SigningPolicy } from './client-bodies.js';

/** A client as its merchant's administrators see it; no secret, nor its hash. */
export interface ClientView {
  id: string;
  name: string;
  scopes: string[];
  ip_policy: IpPolicy;
  /** Canonical. */
  allowed_cidrs: string[];
  require_idempotency_key: boolean;
  signing_policy: SigningPolicy;
  /** How it may prove itself at the token endpoint. */
  token_endpoint_auth_methods: string[];
  /** Until then the secret before the last rotation is good too; null: only one is. */
  previous_secret_expires_at: string | null;
  disabled_at: string | null;
  created_at: string;
}

export interface ClientWithSecretView extends ClientView {
  /** Shown here and never again. */
  client_secret: string;
}

export type OauthClientRow = Prisma.OauthClientGetPayload<object>;

export function clientView(row: OauthClientRow): ClientView {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    ip_policy: row.ipPolicy,
    allowed_cidrs: row.allowedCidrs,
    require_idempotency_key: row.requireIdempotencyKey,
    signing_policy: row.signingPolicy,
    token_endpoint_auth_methods: row.authMethods,
    previous_secret_expires_at: row.previousSecretExpiresAt?.toISOString() ?? null,
    disabled_at: row.disabledAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}
