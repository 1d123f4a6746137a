import { MERCHANT_SCOPES, READ_SCOPES, SCOPES, type Scope } from './scopes.js';

/** Roles of a user at a merchant. */
export const MERCHANT_ROLES = ['owner', 'operator', 'accountant', 'support', 'developer'] as const;
export type MerchantRole = (typeof MERCHANT_ROLES)[number];

/** Roles of a user of the whole installation. */
export const PLATFORM_ROLES = ['platform_administrator', 'platform_reader'] as const;
export type PlatformRole = (typeof PLATFORM_ROLES)[number];

export type Role = MerchantRole | PlatformRole;

/** Which role has which scopes at the merchant that a request names: the only table of it (docs/users.md). */
export const SCOPES_OF_ROLE: Readonly<Record<Role, readonly Scope[]>> = {
  owner: MERCHANT_SCOPES,
  operator: ['receipts:read', 'catalog:read', 'payments:read', 'devices:admin', 'operator:resolve', 'webhooks:read'],
  accountant: ['receipts:read', 'refunds:write', 'catalog:read', 'payments:read', 'devices:read'],
  support: ['receipts:read', 'catalog:read', 'payments:read', 'devices:read', 'webhooks:read', 'operator:read'],
  // A client can be given only what its maker has: these are what programs of the merchant need.
  developer: [
    'receipts:write',
    'receipts:read',
    'refunds:write',
    'payments:write',
    'catalog:write',
    'catalog:read',
    'devices:read',
    'webhooks:admin',
    'clients:admin',
  ],
  platform_administrator: [...READ_SCOPES, 'users:admin'],
  platform_reader: READ_SCOPES,
};

/** The same for requests that name no merchant. */
export const PLATFORM_SCOPES_OF_ROLE: Readonly<Record<PlatformRole, readonly Scope[]>> = {
  platform_administrator: ['platform:admin', 'users:admin'],
  platform_reader: ['platform:read', 'users:read'],
};

/** In the place of a merchant's id where a user acts for the whole installation. No merchant has it. */
export const PLATFORM = 'platform';

export function isMerchantRole(text: string): text is MerchantRole {
  return MERCHANT_ROLES.some((role) => role === text);
}

export function isPlatformRole(text: string): text is PlatformRole {
  return PLATFORM_ROLES.some((role) => role === text);
}

export function isRole(text: string): text is Role {
  return isMerchantRole(text) || isPlatformRole(text);
}

/** Of all the roles together, each once, in the order of SCOPES. */
export function scopesOfRoles(roles: readonly Role[]): readonly Scope[] {
  return united(roles.map((role) => SCOPES_OF_ROLE[role]));
}

export function platformScopesOf(roles: readonly PlatformRole[]): readonly Scope[] {
  return united(roles.map((role) => PLATFORM_SCOPES_OF_ROLE[role]));
}

function united(lists: readonly (readonly Scope[])[]): readonly Scope[] {
  const held = new Set(lists.flat());
  return SCOPES.filter((scope) => held.has(scope));
}
