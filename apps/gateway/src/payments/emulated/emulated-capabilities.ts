import { FLOWS, REGISTERS_NOTHING, type ProviderCapabilities } from '#payments';

/**
 * What the simulated provider of a sandbox can do, whichever provider its account names: a token is held, a wallet's code is charged at
 * once, and a customer on the phone or on the provider's page pays by itself.
 */
export const EMULATED_CAPABILITIES: ProviderCapabilities = {
  flows: { token: 'hold', phone: 'invoice', qr: 'charge', none: 'invoice' },
  holdSeconds: 1_800,
  refundInitiator: { hold: 'us', charge: 'us', invoice: 'us', inbound: 'us', veto: 'us' },
  partialRefunds: FLOWS,
  preparedFlows: [],
  statusByOurRef: true,
  keyedCharges: true,
  statusFlows: FLOWS,
  ...REGISTERS_NOTHING,
  qrPaymentProvider: null,
};
