import type { MerchantRole } from '../../apps/gateway/src/http/roles.js';

const ALL = [
  ...['Overview', 'Receipts', 'Unknown', 'Registers', 'Payments', 'Goods', 'Webhooks', 'Messages', 'Reports'],
  ...['Access', 'Set-up'],
];
const without = (...names: string[]): string[] => ALL.filter((name) => !names.includes(name));

/** What docs/users.md says of each role, as it is seen. */
export const OFFERED: Record<MerchantRole, { screens: string[]; actions: string[] }> = {
  owner: {
    screens: ALL,
    actions: ['Refund', 'Register', 'Add a register', 'Add an endpoint', 'Import a file', 'Invite a person'],
  },
  operator: { screens: without('Access'), actions: ['Register', 'Add a register'] },
  accountant: { screens: without('Unknown', 'Webhooks', 'Messages', 'Access'), actions: ['Refund'] },
  support: { screens: without('Messages', 'Access'), actions: [] },
  developer: { screens: without('Unknown'), actions: ['Refund', 'Add an endpoint', 'Import a file'] },
};

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
