import type { ReadValue } from '#outgoing';
import { DEFINITIONS, type Instrument, type PaymentFlow, type ProviderCode } from '#payments';

/** One way in which a provider takes money, as the contract suites need to know it (docs/payments/new-provider.md). */
export interface ProviderWay {
  name: string;
  provider: ProviderCode;
  flow: PaymentFlow;
  instrument: Partial<Instrument>;
  /** The fields of an account, with the addresses of a simulator. */
  values(simulatorUrl: string): Record<string, string>;
  /** How the customer's money comes: by our call, or by the customer's own step, on a page of the provider's or in its app. */
  pays: 'by call' | 'on page' | 'in the app';
  /** Whether a status names the sum. */
  showsAmount: boolean;
  /** Whether a status or a call names the currency. */
  showsCurrency: boolean;
  /** Whether a status names the sum that went back. */
  showsRefunded: boolean;
  /** What a repeated refund of the same key is answered: as the first time, refused, or it is another refund. */
  repeatedRefund: 'replayed' | 'refused' | 'another';
  /** Whether calls are signed with a time that the provider checks. */
  timed: boolean;
  /** What a status says of money that is held: some have no word of their own for it. */
  held: 'authorized' | 'in_flight';
  /** A hold that ends by itself. */
  expires: boolean;
}

export const NO_INSTRUMENT: Instrument = { token: null, phone: null, qr: null, otp: null };

/** Reads as the gateway does: the value, else its fallback. */
export function readerOf(way: ProviderWay, simulatorUrl: string): ReadValue {
  const values = way.values(simulatorUrl);
  return (name) => values[name] ?? DEFINITIONS[way.provider].fields[name]?.fallback ?? '';
}
