import { field, optional } from '#outgoing';
import { PASSWORD, type ProviderDefinition } from '../definition.js';
import { NO_LINES } from '../fiscal.js';
import { REGISTERS_NOTHING, type ProviderCapabilities } from '../port.js';
import { PAYNET_PROTOCOL } from './paynet.decision.js';
import { isPaynetCaller } from './paynet.wire.js';

const PAYNET_CAPABILITIES: ProviderCapabilities = {
  flows: { token: null, phone: null, qr: null, none: 'inbound' },
  holdSeconds: null,
  refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', veto: 'us', inbound: 'provider' },
  partialRefunds: [],
  preparedFlows: [],
  statusByOurRef: false,
  statusFlows: [],
  ...REGISTERS_NOTHING,
  qrPaymentProvider: null,
};

/** Paynet only calls: the customer names the payment at a terminal or in the app, there is no page to go to. */
export const PAYNET: ProviderDefinition = {
  fields: {
    service_id: field({ pattern: /^\d{1,12}$/ }),
    login: field(),
    password: PASSWORD,
    account_field: optional({ pattern: /^[A-Za-z][A-Za-z0-9_]{0,31}$/, fallback: 'order_id' }),
  },
  hosts: [],
  isCaller: isPaynetCaller,
  sources: [],
  inbound: PAYNET_PROTOCOL,
  capabilities: () => PAYNET_CAPABILITIES,
  lineForm: () => NO_LINES,
  client: () => ({}),
};
