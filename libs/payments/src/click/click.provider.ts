import { SECRET, choice, field, webAddress, type ReadValue } from '#outgoing';
import { FISCAL_MODE, SELLER_TIN, type ProviderDefinition } from '../definition.js';
import { FLOWS } from '../port.js';
import { tiyinToSom } from '../som.js';
import { clickLineForm, type ClickAmountScale } from './click-ofd.js';
import { ClickClient, PASS_SECONDS } from './click.client.js';

const NUMBER = field({ pattern: /^\d{1,12}$/ });

function amountScaleOf(read: ReadValue): ClickAmountScale {
  return read('ofd_amount_scale') === '1000' ? 1_000 : 1;
}

function linksRefunds(read: ReadValue): boolean {
  return read('refund_documents') === 'link';
}

export const CLICK: ProviderDefinition = {
  fields: {
    service_id: NUMBER,
    merchant_id: NUMBER,
    merchant_user_id: NUMBER,
    secret_key: SECRET,
    api_url: webAddress('https://api.click.uz/v2/merchant'),
    checkout_url: webAddress('https://my.click.uz/services/pay'),
    fiscal_mode: FISCAL_MODE,
    tin: SELLER_TIN,
    /** How lines that Click registers count: which of the two is nowhere confirmed. */
    ofd_amount_scale: choice('1', '1000'),
    /** Click's documents say of nothing that has to be enabled for them. */
    partial_refunds: choice('on', 'off'),
    /** The answer to a repeated Complete of the attempt that paid: -4 as documented, or 0. */
    repeated_complete: choice('-4', '0'),
    /** Whether click_paydoc_id is the Merchant API's payment_id, or that has to be found by our reference. */
    payment_number: choice('paydoc', 'lookup'),
    /** Whether the link of a payment becomes the refund's after a reversal is nowhere confirmed either. */
    refund_documents: choice('operator', 'link'),
  },
  // Each line has to name a seller.
  faults: (read) =>
    read('fiscal_mode') === 'provider' && read('tin') === ''
      ? [{ field: 'tin', detail: 'click needs the tin of what it registers' }]
      : [],
  hosts: ['api.click.uz', 'my.click.uz'],
  sources: [],
  capabilities: (read) => ({
    // Click Pass: an unconfirmed hold ends by itself.
    flows: { token: 'charge', phone: 'invoice', qr: 'hold', none: 'inbound' },
    holdSeconds: PASS_SECONDS,
    refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', veto: 'us', inbound: 'us' },
    partialRefunds: read('partial_refunds') === 'on' ? ['hold', 'charge', 'invoice', 'inbound'] : [],
    preparedFlows: [],
    statusByOurRef: true,
    statusFlows: FLOWS,
    fiscalFlows: FLOWS,
    providerDocuments: 'fetched',
    refundDocuments: linksRefunds(read) ? 'fetched' : null,
    linkFlows: ['hold', 'charge', 'invoice'],
    qrPaymentProvider: 64,
  }),
  lineForm: (read) => clickLineForm(amountScaleOf(read)),
  absent: () => ({ flow: 'charge', providerRef: null }),
  client: (read, exchange) => {
    const who = { serviceId: read('service_id'), merchantUserId: read('merchant_user_id') };
    const sellerTin = read('tin');
    return new ClickClient(
      {
        apiUrl: read('api_url'),
        ...who,
        secretKey: read('secret_key'),
        ...(sellerTin !== '' && { sellerTin }),
        amountScale: amountScaleOf(read),
        linksRefunds: linksRefunds(read),
      },
      exchange,
    );
  },
  checkout: (read, { ourRef, amountTiyin, returnUrl }) => {
    const url = new URL(read('checkout_url'));
    url.searchParams.set('service_id', read('service_id'));
    url.searchParams.set('merchant_id', read('merchant_id'));
    url.searchParams.set('amount', tiyinToSom(amountTiyin));
    url.searchParams.set('transaction_param', ourRef);
    if (returnUrl !== null) url.searchParams.set('return_url', returnUrl);
    return { type: 'redirect', url: url.href };
  },
};
