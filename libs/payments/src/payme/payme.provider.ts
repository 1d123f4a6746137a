import { SECRET, choice, field, optional, webAddress } from '#outgoing';
import { FISCAL_MODE, OPTIONAL_SECRET, type ProviderDefinition } from '../definition.js';
import { FLOWS, type ProviderCapabilities } from '../port.js';
import { paymeCheckoutLink } from './payme-checkout-link.js';
import { PAYME_LINE_FORM } from './payme-detail.js';
import { PaymeClient } from './payme.client.js';
import { isPaymeCaller } from './payme-merchant.wire.js';

const PAYME_CAPABILITIES: ProviderCapabilities = {
  flows: { token: 'hold', phone: null, qr: null, none: 'inbound' },
  // The documentation gives no duration; this is far below what the community saw (30 days).
  holdSeconds: 24 * 3_600,
  refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', veto: 'us', inbound: 'provider' },
  partialRefunds: [],
  preparedFlows: ['hold'],
  statusByOurRef: false,
  statusFlows: ['hold'],
  fiscalFlows: FLOWS,
  providerDocuments: 'reported',
  refundDocuments: 'reported',
  linkFlows: ['hold'],
  qrPaymentProvider: 141,
};

export const PAYME: ProviderDefinition = {
  fields: {
    cashbox_id: field(),
    key: SECRET,
    /** For the sandbox, beside the key. */
    test_key: OPTIONAL_SECRET,
    account_field: optional({ pattern: /^[A-Za-z][A-Za-z0-9_]{0,31}$/, fallback: 'order_id' }),
    login: optional({ fallback: 'Paycom' }),
    api_url: webAddress('https://checkout.paycom.uz/api'),
    checkout_url: webAddress('https://checkout.paycom.uz'),
    /** What CheckPerformTransaction says of an order that is paid or busy: the documentation leaves it open. */
    check_busy_code: choice('-31008', '-31050'),
    /** Hours that a hold is trusted to last: no official number is known. */
    hold_hours: optional({ pattern: /^\d{1,3}$/, fallback: '24' }),
    fiscal_mode: FISCAL_MODE,
  },
  hosts: ['checkout.paycom.uz', 'checkout.test.paycom.uz', 'test.paycom.uz'],
  isCaller: isPaymeCaller,
  sources: ['185.234.113.0/28'],
  capabilities: () => PAYME_CAPABILITIES,
  lineForm: () => PAYME_LINE_FORM,
  absent: () => ({ flow: 'hold', providerRef: '0'.repeat(24) }),
  client: (read, exchange) => {
    const who = { cashboxId: read('cashbox_id'), key: read('key'), accountField: read('account_field') };
    return new PaymeClient({ apiUrl: read('api_url'), ...who }, exchange);
  },
  checkout: (read, { ourRef, amountTiyin, returnUrl }) => {
    const where = { host: read('checkout_url'), cashboxId: read('cashbox_id'), accountField: read('account_field') };
    return { type: 'redirect', url: paymeCheckoutLink({ ...where, account: ourRef, amountTiyin, returnUrl }) };
  },
};
