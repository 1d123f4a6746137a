import type { Words } from '../i18n/i18n.js';

export interface Screen {
  key: keyof Words['nav'];
  path: string;
  /** What the screen's calls need; without it the screen is not offered. */
  scope: string;
}

/** In the order of the navigation. */
export const SCREENS = [
  { key: 'receipts', path: '/receipts', scope: 'receipts:read' },
  { key: 'unknown', path: '/unknown', scope: 'operator:read' },
  { key: 'registers', path: '/registers', scope: 'devices:read' },
  { key: 'payments', path: '/payments', scope: 'payments:read' },
  { key: 'goods', path: '/goods', scope: 'catalog:read' },
  { key: 'webhooks', path: '/webhooks', scope: 'webhooks:read' },
  { key: 'reports', path: '/reports', scope: 'receipts:read' },
  { key: 'access', path: '/access', scope: 'clients:read' },
] as const satisfies readonly Screen[];
