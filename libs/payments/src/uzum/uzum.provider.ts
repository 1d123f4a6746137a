import { choice, optional, webAddress, type ReadValue } from '#outgoing';
import {
  FISCAL_MODE,
  OPTIONAL_PASSWORD,
  OPTIONAL_SECRET,
  SELLER_TIN,
  type FieldFault,
  type ProviderDefinition,
} from '../definition.js';
import type { LineForm } from '../fiscal.js';
import type { HttpExchange } from '../http-exchange.js';
import type { PaymentFlow, ProviderCapabilities } from '../port.js';
import { UzumCheckoutClient } from './uzum-checkout.client.js';
import { UZUM_CALLBACKS } from './uzum-checkout.callback.js';
import { UzumClient } from './uzum.client.js';
import { UzumFastPayClient } from './uzum-fastpay.client.js';
import { UZUM_MERCHANT } from './uzum-merchant.decision.js';
import { isUzumMerchantCaller } from './uzum-merchant.wire.js';
import { UzumOfdClient, UZUM_OFD_LINE_FORM } from './uzum-ofd.client.js';

/** Each product has credentials of its own; one that has none is not used. */
const PRODUCTS = {
  merchant: ['merchant_service_id', 'merchant_login', 'merchant_password'],
  checkout: ['terminal_id', 'api_key'],
  fastpay: ['fastpay_service_id', 'fastpay_user_id', 'fastpay_secret', 'cashbox_code'],
} as const;
type Product = keyof typeof PRODUCTS;

/** Quantities of Checkout's cart are whole, and what its discounts do to the totals is not said. */
const CART_LINE_FORM: LineForm = { fractions: false, discounts: false, commission: ['tin', 'pinfl'] };

function has(read: ReadValue, product: Product): boolean {
  return PRODUCTS[product].some((name) => read(name) !== '');
}

function checkoutFlow(read: ReadValue): PaymentFlow {
  return read('pay_type') === 'TWO_STEP' ? 'hold' : 'invoice';
}

function capabilities(read: ReadValue): ProviderCapabilities {
  const checkout = has(read, 'checkout') ? checkoutFlow(read) : null;
  const page = read('page') === 'merchant' || checkout === null ? null : checkout;
  const hasOfd = read('ofd_api_key') !== '';
  return {
    flows: {
      token: checkout,
      phone: null,
      qr: has(read, 'fastpay') ? 'charge' : null,
      none: page ?? (has(read, 'merchant') ? 'inbound' : null),
    },
    // The documents name none: `hold_hours` of the account.
    holdSeconds: 24 * 3_600,
    refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', veto: 'us', inbound: 'provider' },
    partialRefunds: ['hold', 'invoice'],
    preparedFlows: ['hold', 'invoice'],
    statusByOurRef: false,
    statusFlows: ['hold', 'invoice', 'charge'],
    fiscalFlows: hasOfd ? ['hold', 'invoice', 'charge', 'inbound'] : ['invoice'],
    providerDocuments: 'fetched',
    refundDocuments: 'fetched',
    linkFlows: ['charge'],
    qrPaymentProvider: 161,
  };
}

/** A product is set up whole or not at all, and one of them at least. */
function faults(read: ReadValue): readonly FieldFault[] {
  const products = Object.keys(PRODUCTS) as Product[];
  const begun = products.filter((product) => has(read, product));
  if (begun.length === 0)
    return [{ field: 'terminal_id', detail: 'uzum needs the credentials of one product at least' }];
  const halves: FieldFault[] = begun.flatMap((product) =>
    PRODUCTS[product]
      .filter((name) => read(name) === '')
      .map((name) => ({ field: name, detail: `uzum's ${product} needs ${name}` })),
  );
  if (read('page') === 'merchant' && !has(read, 'merchant'))
    halves.push({ field: 'merchant_service_id', detail: 'page merchant needs the Merchant API' });
  if (read('fiscal_mode') === 'provider' && read('tin') === '')
    halves.push({ field: 'tin', detail: 'uzum needs the tin of what it registers' });
  return halves;
}

function client(read: ReadValue, exchange: HttpExchange): UzumClient {
  const sellerTin = read('tin');
  const products = {
    checkout: has(read, 'checkout')
      ? new UzumCheckoutClient(
          { apiUrl: read('checkout_url'), terminalId: read('terminal_id'), apiKey: read('api_key'), sellerTin },
          exchange,
        )
      : null,
    fastPay: has(read, 'fastpay')
      ? new UzumFastPayClient(
          {
            ...{ apiUrl: read('fastpay_url'), serviceId: read('fastpay_service_id'), userId: read('fastpay_user_id') },
            ...{ secretKey: read('fastpay_secret'), cashboxCode: read('cashbox_code') },
          },
          exchange,
        )
      : null,
    ofd:
      read('ofd_api_key') === ''
        ? null
        : new UzumOfdClient(
            {
              ...{ apiUrl: read('ofd_url'), apiKey: read('ofd_api_key'), sellerTin },
              priceOf: read('ofd_price') === 'line' ? 'line' : 'unit',
            },
            exchange,
          ),
  };
  return new UzumClient(products);
}

export const UZUM: ProviderDefinition = {
  fields: {
    /** Where a customer pays who brings neither token nor code: Checkout's page, or Uzum's app (Merchant API). */
    page: choice('checkout', 'merchant'),
    merchant_service_id: optional({ pattern: /^\d{1,15}$/ }),
    merchant_login: optional(),
    merchant_password: OPTIONAL_PASSWORD,
    /** The name of the order in `params`. */
    account_param: optional({ pattern: /^[A-Za-z][A-Za-z0-9_]{0,31}$/, fallback: 'order_id' }),
    /** The HTTP status of 10001: the documents name 400 alone, other clients were seen to expect 401. */
    auth_status: choice('400', '401'),
    open_url: webAddress('https://www.uzumbank.uz/open-service'),
    terminal_id: optional({ pattern: /^[0-9a-fA-F-]{36}$/ }),
    api_key: OPTIONAL_SECRET,
    /** TWO_STEP holds; Uzum has to enable it for the terminal. */
    pay_type: choice('ONE_STEP', 'TWO_STEP'),
    hold_hours: optional({ pattern: /^\d{1,3}$/, fallback: '24' }),
    checkout_url: webAddress('https://checkout-key.inplat-tech.com'),
    fastpay_service_id: optional({ pattern: /^\d{1,15}$/ }),
    fastpay_user_id: optional({ pattern: /^\d{1,15}$/ }),
    fastpay_secret: OPTIONAL_SECRET,
    cashbox_code: optional({ pattern: /^[\x21-\x7e]{1,64}$/ }),
    fastpay_url: webAddress('https://mobile.apelsin.uz'),
    /** Uzum Fiscalization: registers what Checkout does not. */
    ofd_api_key: OPTIONAL_SECRET,
    ofd_url: webAddress('https://ofd-key.inplat-tech.com'),
    ofd_price: choice('unit', 'line'),
    fiscal_mode: FISCAL_MODE,
    tin: SELLER_TIN,
  },
  faults,
  hosts: [
    ...['www.uzumbank.uz', 'checkout-key.inplat-tech.com', 'test-chk-api.uzumcheckout.uz'],
    ...['mobile.apelsin.uz', 'ofd-key.inplat-tech.com', 'test-ofd.ipt-merch.com'],
  ],
  isCaller: isUzumMerchantCaller,
  sources: [],
  inbound: UZUM_MERCHANT,
  hints: UZUM_CALLBACKS,
  capabilities,
  lineForm: (read) => (read('ofd_api_key') === '' ? CART_LINE_FORM : UZUM_OFD_LINE_FORM),
  absent: (read) => {
    if (has(read, 'checkout')) return { flow: 'hold', providerRef: '00000000-0000-4000-8000-000000000000' };
    return has(read, 'fastpay') ? { flow: 'charge', providerRef: '0' } : null;
  },
  client,
  checkout: (read, { ourRef, amountTiyin, returnUrl }) => {
    const url = new URL(read('open_url'));
    url.searchParams.set('serviceId', read('merchant_service_id'));
    url.searchParams.set(read('account_param'), ourRef);
    url.searchParams.set('amount', String(amountTiyin));
    if (returnUrl !== null) url.searchParams.set('redirectUrl', returnUrl);
    return { type: 'redirect', url: url.href };
  },
};
