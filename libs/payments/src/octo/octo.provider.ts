import { SECRET, choice, field, optional, webAddress } from '#outgoing';
import { OPTIONAL_SECRET, type ProviderDefinition } from '../definition.js';
import { NO_LINES } from '../fiscal.js';
import { FLOWS, REGISTERS_NOTHING } from '../port.js';
import { OctoClient } from './octo.client.js';
import { OCTO_NOTIFICATIONS } from './octo.notification.js';

export const OCTO: ProviderDefinition = {
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
  capabilities: (read) => ({
    flows: { token: null, phone: null, qr: null, none: read('stages') === 'two' ? 'hold' : 'invoice' },
    holdSeconds: Number(read('hold_minutes')) * 60,
    refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', veto: 'us', inbound: 'us' },
    partialRefunds: ['hold', 'invoice'],
    preparedFlows: ['hold', 'invoice'],
    statusByOurRef: true,
    statusFlows: FLOWS,
    ...REGISTERS_NOTHING,
    qrPaymentProvider: null,
  }),
  lineForm: () => NO_LINES,
  absent: () => ({ flow: 'hold', providerRef: null }),
  client: (read, exchange) =>
    new OctoClient(
      {
        ...{ apiUrl: read('api_url'), shopId: read('shop_id'), secret: read('secret') },
        ...{ ttlMinutes: Number(read('ttl_minutes')), isTest: read('test') === 'true' },
      },
      exchange,
    ),
};
