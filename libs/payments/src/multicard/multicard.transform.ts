import { statusOf, type MoneyStatus, type NoStatus, type PaymentEvidence, type StatusFacts } from '../port.js';
import { integerAt, isObject, objectAt, rrnOf, tashkentTimeMs, textAt, type WireObject } from '../wire.js';
import { multicardDocument } from './multicard-ofd.js';

const PAYMENT: Readonly<Record<string, MoneyStatus>> = {
  draft: 'pending',
  progress: 'in_flight',
  // Our callback is being asked; the money is frozen.
  billing: 'reserved',
  success: 'captured',
  error: 'declined',
  revert: 'refunded',
};

const HOLD: Readonly<Record<string, MoneyStatus>> = {
  draft: 'pending',
  active: 'authorized',
  canceled: 'voided',
};

/** PaymentModel. A status that is not in the documentation is at work, for all we know. Parts of a refund it does not show. */
export function multicardPaymentStatus(payment: WireObject): StatusFacts {
  const status = PAYMENT[textAt(payment, 'status') ?? ''] ?? 'in_flight';
  const amountTiyin = integerAt(payment, 'payment_amount');
  return statusOf(status, {
    providerRef: textAt(payment, 'uuid'),
    amountTiyin,
    refundedTiyin: status === 'refunded' ? amountTiyin : null,
    evidence: evidenceOf(payment),
    document: multicardDocument(payment, 'sale'),
  });
}

/** A hold: `{id, status, expiry, payment}`. */
export function multicardHoldStatus(hold: WireObject): StatusFacts {
  const payment = objectAt(hold, 'payment');
  const status = HOLD[textAt(hold, 'status') ?? ''] ?? 'in_flight';
  return statusOf(status, {
    providerRef: textAt(payment, 'uuid'),
    evidence: evidenceOf(payment),
    // A hash stands for a code that the customer was sent; without one none is wanted.
    nextAction: status === 'pending' && textAt(payment, 'otp_hash') !== null ? { type: 'otp' } : null,
    amountTiyin: integerAt(payment, 'payment_amount'),
    holdExpiresAtMs: status === 'authorized' ? tashkentTimeMs(textAt(hold, 'expiry')) : null,
  });
}

/** Codes that say for sure that nothing was debited. */
const DEFINITIVE: ReadonlySet<string> = new Set([
  'ERROR_FIELDS',
  'ERROR_CARD_NOT_FOUND',
  'ERROR_INSUFFICIENT_FUNDS',
  'ERROR_CARD_EXPIRED',
  'ERROR_WRONG_OTP',
  'ERROR_NOT_FOUND',
]);

export type MulticardAnswer = { kind: 'data'; data: WireObject } | NoStatus;

/** `{success, data | error{code, details}}`, whatever the HTTP status says beside it. */
export function multicardAnswer(status: number, body: unknown): MulticardAnswer {
  if (!isObject(body)) return { kind: 'unknown', detail: `HTTP ${String(status)} with an unreadable body` };
  if (status === 200 && body['success'] === true) return { kind: 'data', data: objectAt(body, 'data') };
  const code = textAt(objectAt(body, 'error'), 'code') ?? '';
  const detail = textAt(objectAt(body, 'error'), 'details') ?? `HTTP ${String(status)}`;
  if (status < 500 && DEFINITIVE.has(code)) return { kind: 'refused', code, detail };
  return { kind: 'unknown', detail: `HTTP ${String(status)} ${code}: ${detail}` };
}

function evidenceOf(payment: WireObject): PaymentEvidence {
  return { rrn: rrnOf(textAt(payment, 'ps_uniq_id')), phone: textAt(payment, 'phone'), cardType: null };
}
