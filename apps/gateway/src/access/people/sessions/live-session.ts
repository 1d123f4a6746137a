import type { MerchantRole, PlatformRole } from '../../../http/roles.js';

export const LOGIN_WAYS = ['password', 'passkey', 'oidc'] as const;
export type LoginWay = (typeof LOGIN_WAYS)[number];

/** What a user may do at one merchant. */
export interface MembershipOf {
  merchantId: string;
  code: string;
  name: string;
  roles: readonly MerchantRole[];
}

/** A session that may be used now, with whom it belongs to. */
export interface LiveSession {
  sessionId: string;
  userId: string;
  email: string;
  name: string;
  login: LoginWay;
  createdAt: Date;
  expiresAt: Date;
  /** By the own clock; moved on when the session is used. */
  lastSeenMs: number;
  /** By the own clock, until when a second factor that was shown counts; null: none was. */
  stepUpUntilMs: number | null;
  platformRoles: readonly PlatformRole[];
  memberships: readonly MembershipOf[];
}
