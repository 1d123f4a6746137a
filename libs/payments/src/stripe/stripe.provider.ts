import { SECRET, choice, optional, webAddress, type ReadValue } from '#outgoing';
import { OPTIONAL_SECRET, type ProviderDefinition } from '../definition.js';
import { NO_LINES } from '../fiscal.js';
import { stripeCapabilities, StripeClient } from './stripe.client.js';
import { STRIPE_EVENTS } from './stripe.webhook.js';

function ways(read: ReadValue): { holds: boolean; holdHours: number; leastTiyin: number } {
  return {
    holds: read('capture') === 'manual',
    holdHours: Number(read('hold_hours')),
    leastTiyin: Number(read('least_amount')),
  };
}

/** The reference of an international card: a saved one, held until its receipt is registered. */
export const STRIPE: ProviderDefinition = {
  code: 'stripe',
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
  capabilities: (read) => stripeCapabilities(ways(read)),
  lineForm: () => NO_LINES,
  absent: () => ({ flow: 'charge', providerRef: 'pi_absent' }),
  client: (read, exchange) =>
    new StripeClient({ apiUrl: read('api_url'), secretKey: read('secret_key'), ...ways(read) }, exchange),
};
