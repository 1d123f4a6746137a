import { SECRET, choice, field, optional, webAddress } from '#outgoing';
import { FISCAL_MODE, SELLER_TIN, type ProviderDefinition } from '../definition.js';
import { FLOWS } from '../port.js';
import { MULTICARD_LINE_FORM } from './multicard-ofd.js';
import { MulticardClient } from './multicard.client.js';

export const MULTICARD: ProviderDefinition = {
  fields: {
    application_id: field(),
    secret: SECRET,
    store_id: field(),
    api_url: webAddress('https://mesh.multicard.uz'),
    token_header: choice('authorization', 'x-access-token'),
    hold_minutes: optional({ pattern: /^\d{1,5}$/, fallback: '60' }),
    /** What an invoice names of a sale that our register makes: `lines` only where Multicard's fiscalisation is off. */
    invoice_ofd: choice('empty', 'lines'),
    /** Has to be enabled by Multicard. */
    partial_refunds: choice('off', 'on'),
    fiscal_mode: FISCAL_MODE,
    tin: SELLER_TIN,
  },
  hosts: ['mesh.multicard.uz', 'dev-mesh.multicard.uz'],
  sources: ['195.158.26.90/32'],
  capabilities: (read) => ({
    flows: { token: 'hold', phone: null, qr: null, none: 'veto' },
    holdSeconds: 3_600,
    refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', veto: 'us', inbound: 'us' },
    // An invoice may have been paid from a wallet, of which a part goes back only to a card number: we never have one.
    partialRefunds: read('partial_refunds') === 'on' ? ['hold'] : [],
    preparedFlows: ['hold', 'veto'],
    statusByOurRef: false,
    statusFlows: FLOWS,
    fiscalFlows: FLOWS,
    providerDocuments: 'fetched',
    refundDocuments: 'fetched',
    linkFlows: ['hold', 'charge', 'invoice', 'veto'],
    qrPaymentProvider: null,
  }),
  lineForm: () => MULTICARD_LINE_FORM,
  absent: () => ({ flow: 'hold', providerRef: '00000000-0000-4000-8000-000000000000' }),
  client: (read, exchange) => {
    const sellerTin = read('tin');
    return new MulticardClient(
      {
        apiUrl: read('api_url'),
        applicationId: read('application_id'),
        secret: read('secret'),
        storeId: read('store_id'),
        tokenHeader: read('token_header') === 'x-access-token' ? 'x-access-token' : 'authorization',
        holdMinutes: Number(read('hold_minutes')),
        saysLines: read('invoice_ofd') === 'lines',
        ...(sellerTin !== '' && { sellerTin }),
      },
      exchange,
    );
  },
};
