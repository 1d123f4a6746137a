import type { PaymentBody } from './receipt-body.js';

/** Who is said to have moved the money; a blank label is none. */
export function providerLabel({ provider }: PaymentBody): string | null {
  return provider === undefined || provider === null || provider.trim() === '' ? null : provider;
}
