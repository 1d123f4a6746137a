import { createContext, useContext } from 'react';

export interface MerchantName {
  id: string;
  code: string;
  name: string;
}

/** The answer of GET /v1/me. */
export interface Me {
  kind: 'user' | 'client';
  scopes: string[];
  client_id?: string;
  merchant_id?: string;
  user?: { id: string; name: string; email: string };
  merchant?: MerchantName | null;
  roles?: string[];
  memberships?: { merchant: MerchantName; roles: string[] }[];
  platform_roles?: string[];
  step_up_methods?: string[];
  session?: { id: string; created_at: string; expires_at: string; step_up_until: string | null; login: string };
  factors?: { password: boolean; totp: boolean; passkeys: number };
}

export interface Session {
  me: Me;
  /** Whether a call that needs this scope would be let through. */
  can: (scope: string) => boolean;
  /** The same for what concerns the whole installation, whichever merchant is shown. */
  canOverMerchants: (scope: 'platform:read' | 'platform:admin') => boolean;
  chooseMerchant: (id: string) => void;
  logOut: () => Promise<void>;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('no session above this component');
  return session;
}

/** A right to write contains the right to read of its kind. */
const CONTAINED_IN: Record<string, string> = {
  'payments:read': 'payments:write',
  'catalog:read': 'catalog:write',
  'devices:read': 'devices:admin',
  'webhooks:read': 'webhooks:admin',
  'clients:read': 'clients:admin',
  'operator:read': 'operator:resolve',
  'users:read': 'users:admin',
  'platform:read': 'platform:admin',
};

export function holds(scopes: readonly string[], scope: string): boolean {
  const wider = CONTAINED_IN[scope];
  return scopes.includes(scope) || (wider !== undefined && scopes.includes(wider));
}

/** What the roles of the platform allow over all merchants; docs/users.md has the table. */
export function holdsOverMerchants({ platform_roles: roles = [], scopes }: Me, scope: string): boolean {
  if (roles.includes('platform_administrator')) return true;
  return holds(scopes, scope) || (scope === 'platform:read' && roles.includes('platform_reader'));
}
