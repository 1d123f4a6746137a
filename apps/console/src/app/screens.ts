import type { Words } from '../i18n/i18n.js';
import type { Session } from '../session/session-context.js';

export interface Screen {
  key: keyof Words['nav'];
  path: string;
  /** What the screen's calls need, one of these; without it the screen is not offered. */
  scopes: readonly string[];
}

/** In the order of the navigation. */
export const SCREENS = [
  { key: 'overview', path: '/overview', scopes: ['receipts:read'] },
  { key: 'receipts', path: '/receipts', scopes: ['receipts:read'] },
  { key: 'unknown', path: '/unknown', scopes: ['operator:read'] },
  { key: 'registers', path: '/registers', scopes: ['devices:read'] },
  { key: 'payments', path: '/payments', scopes: ['payments:read'] },
  { key: 'goods', path: '/goods', scopes: ['catalog:read'] },
  { key: 'webhooks', path: '/webhooks', scopes: ['webhooks:read'] },
  { key: 'messages', path: '/messages', scopes: ['messages:write', 'clients:admin', 'devices:admin'] },
  { key: 'reports', path: '/reports', scopes: ['receipts:read'] },
  { key: 'access', path: '/access', scopes: ['users:read', 'clients:read'] },
  { key: 'onboarding', path: '/onboarding', scopes: ['devices:read'] },
  { key: 'platform', path: '/platform', scopes: ['platform:read'] },
] as const satisfies readonly Screen[];

type Offered = (typeof SCREENS)[number];

/** The screens that this person's rights lead to, in their order. */
export function screensFor({ can, canOverMerchants }: Pick<Session, 'can' | 'canOverMerchants'>): Offered[] {
  return SCREENS.filter(({ key, scopes }) =>
    key === 'platform' ? canOverMerchants('platform:read') : scopes.some((scope) => can(scope)),
  );
}
