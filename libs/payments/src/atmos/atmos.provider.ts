import { SECRET, choice, field, optional, webAddress } from '#outgoing';
import { OPTIONAL_SECRET, type ProviderDefinition } from '../definition.js';
import { NO_LINES } from '../fiscal.js';
import { FLOWS, REGISTERS_NOTHING } from '../port.js';
import { ATMOS_CALLBACKS } from './atmos.callback.js';
import { AtmosClient } from './atmos.client.js';

export const ATMOS: ProviderDefinition = {
  fields: {
    consumer_key: field(),
    consumer_secret: SECRET,
    store_id: field({ pattern: /^\d{1,12}$/ }),
    terminal_id: optional({ pattern: /^[A-Za-z0-9]{1,32}$/ }),
    /** Signs ATMOS's callbacks; without it none is taken, and the status alone is read. */
    api_key: OPTIONAL_SECRET,
    api_url: webAddress('https://apigw.atmos.uz'),
    /** Holds are known from community notes alone. */
    mode: choice('charge', 'hold'),
    hold_minutes: optional({ pattern: /^[1-9]\d{0,4}$/, fallback: '30' }),
    /** Whether a bound card is confirmed by the fixed code, or its customer is asked for one. */
    card_code: choice('fixed', 'customer'),
  },
  hosts: ['apigw.atmos.uz', 'partner.atmos.uz'],
  sources: [],
  hints: ATMOS_CALLBACKS,
  capabilities: (read) => ({
    flows: { token: read('mode') === 'hold' ? 'hold' : 'charge', phone: null, qr: null, none: null },
    holdSeconds: Number(read('hold_minutes')) * 60,
    // What is known of reversals is that of payments; a hold that was charged is a person's.
    refundInitiator: { hold: 'provider', charge: 'us', invoice: 'us', veto: 'us', inbound: 'us' },
    partialRefunds: [],
    preparedFlows: ['charge', 'hold'],
    statusByOurRef: false,
    statusFlows: FLOWS,
    ...REGISTERS_NOTHING,
    qrPaymentProvider: null,
  }),
  lineForm: () => NO_LINES,
  absent: () => ({ flow: 'charge', providerRef: '1' }),
  client: (read, exchange) =>
    new AtmosClient(
      {
        ...{ apiUrl: read('api_url'), consumerKey: read('consumer_key'), consumerSecret: read('consumer_secret') },
        ...{ storeId: read('store_id'), terminalId: read('terminal_id') },
        holdMinutes: Number(read('hold_minutes')),
        asksCode: read('card_code') === 'customer',
      },
      exchange,
    ),
};
