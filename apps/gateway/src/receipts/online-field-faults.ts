import type { ProblemError } from '#problems';
import type { PaymentBody } from './receipt-body.js';

/** Fields of a payment that make sense only where the gateway collects the money. */
export const ONLINE_FIELDS = ['token', 'phone', 'qr_code', 'otp', 'card_range', 'return_url', 'capture'] as const;

/** With every other method than `online` the money has moved already. */
export function onlineFieldFaults(body: PaymentBody): ProblemError[] {
  const given = ONLINE_FIELDS.filter((field) => body[field] !== undefined && body[field] !== null);
  return given.map((field) => ({
    pointer: `/payment/${field}`,
    code: 'invalid_value',
    detail: `Only the method "online" collects money; "${body.method}" says that it has moved already.`,
  }));
}
