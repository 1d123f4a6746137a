import { SECRET, choice, field, optional, webAddress, type ReadValue } from '#outgoing';
import { OPTIONAL_SECRET, type ProviderDefinition } from '../definition.js';
import { NO_LINES } from '../fiscal.js';
import { octoCapabilities, OctoClient } from './octo.client.js';
import { OCTO_NOTIFICATIONS } from './octo.notification.js';

function stages(read: ReadValue): { holds: boolean; holdMinutes: number } {
  return { holds: read('stages') === 'two', holdMinutes: Number(read('hold_minutes')) };
}

export const OCTO: ProviderDefinition = {
  code: 'octo',
  fields: {
    shop_id: field({ pattern: /^\d{1,12}$/ }),
    secret: SECRET,
    api_url: webAddress('https://secure.octo.uz'),
    /** Two stages hold the money until its receipt is registered. */
    stages: choice('two', 'one'),
    /** The documents name 30 minutes, and days: the shorter one is trusted. */
    hold_minutes: optional({ pattern: /^\d{1,5}$/, fallback: '30' }),
    ttl_minutes: optional({ pattern: /^[1-9]\d{0,3}$/, fallback: '30' }),
    test: choice('false', 'true'),
    /** How notifications are signed. */
    signature: choice('nested', 'flat'),
    unique_key: OPTIONAL_SECRET,
  },
  faults: (read) =>
    read('signature') === 'flat' && read('unique_key') === ''
      ? [{ field: 'unique_key', detail: 'octo signs flat with a unique_key' }]
      : [],
  hosts: ['secure.octo.uz'],
  sources: [],
  hints: OCTO_NOTIFICATIONS,
  capabilities: (read) => octoCapabilities(stages(read)),
  lineForm: () => NO_LINES,
  absent: () => ({ flow: 'hold', providerRef: null }),
  client: (read, exchange) =>
    new OctoClient(
      {
        ...{ apiUrl: read('api_url'), shopId: read('shop_id'), secret: read('secret'), ...stages(read) },
        ...{ ttlMinutes: Number(read('ttl_minutes')), isTest: read('test') === 'true' },
      },
      exchange,
    ),
};
