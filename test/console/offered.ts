import type { MerchantRole } from '../../apps/gateway/src/http/roles.js';
import type { Scope } from '../../apps/gateway/src/http/scopes.js';

const ALL = [
  ...['Overview', 'Receipts', 'Unknown', 'Registers', 'Payments', 'Goods', 'Webhooks', 'Messages', 'Reports'],
  ...['Access', 'Set-up'],
];
const without = (...names: string[]): string[] => ALL.filter((name) => !names.includes(name));

/** The screens that docs/users.md gives each role. */
export const OFFERED: Record<MerchantRole, string[]> = {
  owner: ALL,
  operator: without('Access'),
  accountant: without('Unknown', 'Webhooks', 'Messages', 'Access'),
  support: without('Messages', 'Access'),
  developer: without('Unknown'),
};

/** Each action that a screen offers at once, with the scope that its call needs. */
export const ACTIONS: readonly { path: string; name: string; scope: Scope }[] = [
  { path: '/receipts/{receipt}', name: 'Refund', scope: 'refunds:write' },
  { path: '/receipts/{receipt}', name: 'Send to the buyer', scope: 'messages:write' },
  { path: '/registers', name: 'Add a register', scope: 'devices:admin' },
  { path: '/registers/{device}', name: 'Register', scope: 'devices:admin' },
  { path: '/registers?view=groups', name: 'Make a group', scope: 'devices:admin' },
  { path: '/payments?view=accounts', name: 'Add an account', scope: 'clients:admin' },
  { path: '/payments?view=routing', name: 'Change the rules', scope: 'clients:admin' },
  { path: '/goods', name: 'Import a file', scope: 'catalog:write' },
  { path: '/goods/sku-0', name: 'Change', scope: 'catalog:write' },
  { path: '/goods/sku-0', name: 'Archive', scope: 'catalog:write' },
  { path: '/webhooks', name: 'Add an endpoint', scope: 'webhooks:admin' },
  { path: '/messages?view=suppressions', name: 'Suppress an address', scope: 'messages:write' },
  { path: '/messages?view=accounts', name: 'Add an account', scope: 'clients:admin' },
  { path: '/messages?view=brand', name: 'Save', scope: 'devices:admin' },
  { path: '/access?view=users', name: 'Invite a person', scope: 'users:admin' },
  { path: '/access?view=clients', name: 'Add a client', scope: 'clients:admin' },
  { path: '/access?view=clients', name: 'Change', scope: 'clients:admin' },
  { path: '/access?view=clients', name: 'New secret', scope: 'clients:admin' },
  { path: '/access?view=clients', name: 'Allow list', scope: 'clients:admin' },
  { path: '/access?view=audit', name: 'Verify the trail', scope: 'clients:read' },
];

/** Buttons that only show, filter or save a file. */
export const READ_ONLY: readonly RegExp[] = [
  /^(Refresh|Filters|Apply|Clear|Columns|CSV|Copy|Copied|Verify the trail|Load more|Try again)/,
  /^(Export|As |Receipt as|PDF|Print|Picture|Page)/,
  // A register among those of its group.
  /^cashier-/,
];

/** Every address that shows a screen, with records that are there. */
export function screensOf({ receipt, device, merchant }: Record<'receipt' | 'device' | 'merchant', string>): string[] {
  return [
    '/overview',
    '/receipts',
    `/receipts/${receipt}`,
    '/unknown',
    '/registers',
    `/registers/${device}`,
    '/payments',
    '/webhooks',
    '/goods',
    '/goods/sku-0',
    '/reports?by=device',
    '/registers?view=groups',
    '/payments?view=accounts',
    '/payments?view=routing',
    '/payments?view=settlements',
    '/payments?view=differences',
    '/goods?view=affected',
    '/goods?view=register',
    '/messages',
    '/messages?view=templates',
    '/messages?view=suppressions',
    '/messages?view=accounts',
    '/messages?view=brand',
    '/onboarding',
    '/platform',
    `/platform/${merchant}`,
    '/access',
    '/access?view=clients',
    '/access?view=audit',
    '/account',
  ];
}
