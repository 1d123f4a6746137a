import type { Prisma } from '#database';
import type { IpPolicy, SigningPolicy } from './client-bodies.js';
import { viewOfColumns } from '../../http/view-of-columns.js';

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
    ...viewOfColumns(row, 'id', 'name', 'scopes', 'ipPolicy', 'allowedCidrs', 'requireIdempotencyKey', 'signingPolicy'),
    token_endpoint_auth_methods: row.authMethods,
    ...viewOfColumns(row, 'previousSecretExpiresAt', 'disabledAt', 'createdAt'),
  };
}
