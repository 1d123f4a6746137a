import { SECRET, choice, optional, webAddress } from '#outgoing';
import { OPTIONAL_SECRET, type ProviderDefinition } from '../definition.js';
import { NO_LINES } from '../fiscal.js';
import { FLOWS, REGISTERS_NOTHING } from '../port.js';
import { StripeClient } from './stripe.client.js';
import { STRIPE_EVENTS } from './stripe.webhook.js';

/** Eight digits: the most that the documents give an amount. */
const MOST_TIYIN = 99_999_999;

/** The reference of an international card: a saved one, held until its receipt is registered. */
export const STRIPE: ProviderDefinition = {
  fields: {
    secret_key: SECRET,
    /** Signs its events. Without one none is taken, and the status alone is read. */
    webhook_secret: OPTIONAL_SECRET,
    /** The one before, while Stripe signs with both. */
    webhook_secret_before: OPTIONAL_SECRET,
    api_url: webAddress('https://api.stripe.com'),
    capture: choice('manual', 'automatic'),
    /** About seven days online, of some cards five: the shorter one is trusted. */
    hold_hours: optional({ pattern: /^[1-9]\d{0,2}$/, fallback: '120' }),
    /** Half a US dollar in tiyin, which no document can name. */
    least_amount: optional({ pattern: /^[1-9]\d{0,7}$/, fallback: '1000000' }),
  },
  hosts: ['api.stripe.com'],
  sources: [],
  hints: STRIPE_EVENTS,
  capabilities: (read) => ({
    flows: { token: read('capture') === 'manual' ? 'hold' : 'charge', phone: null, qr: null, none: null },
    holdSeconds: Number(read('hold_hours')) * 3_600,
    refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', veto: 'us', inbound: 'us' },
    partialRefunds: ['hold', 'charge'],
    preparedFlows: ['hold', 'charge'],
    statusByOurRef: false,
    keyedCharges: true,
    statusFlows: FLOWS,
    ...REGISTERS_NOTHING,
    amountTiyin: { least: Number(read('least_amount')), most: MOST_TIYIN },
    qrPaymentProvider: null,
  }),
  lineForm: () => NO_LINES,
  absent: () => ({ flow: 'charge', providerRef: 'pi_absent' }),
  client: (read, exchange) => new StripeClient({ apiUrl: read('api_url'), secretKey: read('secret_key') }, exchange),
};
