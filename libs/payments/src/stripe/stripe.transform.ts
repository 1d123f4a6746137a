import type { HttpAnswer } from '../http-exchange.js';
import { statusOf, type MoneyStatus, type NextAction, type NoStatus, type StatusFacts } from '../port.js';
import { integerAt, isObject, objectAt, textAt, type WireObject } from '../wire.js';

/** What we sell is priced in UZS, in tiyin: Stripe has it with two decimals, so its amounts are ours. */
export const STRIPE_CURRENCY = 'uzs';

const STATUS: Readonly<Record<string, MoneyStatus>> = {
  requires_payment_method: 'pending',
  requires_confirmation: 'pending',
  requires_action: 'pending',
  processing: 'in_flight',
  requires_capture: 'authorized',
  succeeded: 'captured',
  canceled: 'voided',
};

/** The refunds of a payment, of which its charge counts those too that may still fail. */
export interface StripeRefunds {
  /** What has gone back. */
  doneTiyin: number;
  /** One of them is neither done nor failed. */
  isOpen: boolean;
}

/** Whether the charge shows that its refunds have to be read before anything is said of them. */
export function hasStripeRefunds(intent: WireObject): boolean {
  return (integerAt(objectAt(intent, 'latest_charge'), 'amount_refunded') ?? 0) > 0;
}

/** A page of them. */
export function stripeRefunds(page: WireObject, before: StripeRefunds): StripeRefunds {
  const refunds = (Array.isArray(page['data']) ? page['data'] : []).filter(isObject);
  const done = refunds.filter((refund) => refund['status'] === 'succeeded');
  const isOver = (refund: WireObject): boolean => OVER.has(textAt(refund, 'status') ?? '');
  return {
    doneTiyin: done.reduce((sum, refund) => sum + (integerAt(refund, 'amount') ?? 0), before.doneTiyin),
    isOpen: before.isOpen || refunds.some((refund) => !isOver(refund)),
  };
}

const OVER: ReadonlySet<string> = new Set(['succeeded', 'failed', 'canceled']);
export const NO_STRIPE_REFUNDS: StripeRefunds = { doneTiyin: 0, isOpen: false };

/** A PaymentIntent, its latest charge shown within. @param refunds as they were read; without them nothing has gone back */
export function stripePaymentStatus(intent: WireObject, refunds: StripeRefunds = NO_STRIPE_REFUNDS): StatusFacts {
  const said = STATUS[textAt(intent, 'status') ?? ''] ?? 'in_flight';
  const amountTiyin = integerAt(intent, 'amount');
  const charge = objectAt(intent, 'latest_charge');
  const refundedTiyin = said === 'captured' ? refunds.doneTiyin : null;
  const isOdd = isOtherCurrency(intent, charge) || charge['disputed'] === true || isOtherSum(intent, said);
  const status = said === 'captured' && refunds.isOpen ? 'in_flight' : moneyOf(intent, said, refundedTiyin);
  return statusOf(isOdd ? 'manual' : status, {
    providerRef: textAt(intent, 'id'),
    ...{ amountTiyin, refundedTiyin, nextAction: nextActionOf(intent) },
  });
}

function moneyOf(intent: WireObject, said: MoneyStatus, refundedTiyin: number | null): MoneyStatus {
  // The bank has refused the card: another one could be tried, here none is.
  if (intent['status'] === 'requires_payment_method' && isObject(intent['last_payment_error'])) return 'declined';
  const isBack = refundedTiyin !== null && refundedTiyin > 0 && refundedTiyin === integerAt(intent, 'amount_received');
  return said === 'captured' && isBack ? 'refunded' : said;
}

/** Of the payment, or of the charge that took it; a refund has its charge's. */
function isOtherCurrency(intent: WireObject, charge: WireObject): boolean {
  const charged = charge['currency'] ?? STRIPE_CURRENCY;
  return textAt(intent, 'currency') !== STRIPE_CURRENCY || charged !== STRIPE_CURRENCY;
}

/** Another sum than the payment's was held or taken. */
function isOtherSum(intent: WireObject, said: MoneyStatus): boolean {
  const amount = integerAt(intent, 'amount');
  if (said === 'authorized') return integerAt(intent, 'amount_capturable') !== amount;
  return said === 'captured' && integerAt(intent, 'amount_received') !== amount;
}

function nextActionOf(intent: WireObject): NextAction | null {
  if (intent['status'] !== 'requires_action') return null;
  const url = textAt(objectAt(objectAt(intent, 'next_action'), 'redirect_to_url'), 'url');
  return url === null ? null : { type: 'redirect', url };
}

export type StripeAnswer = { kind: 'object'; object: WireObject } | NoStatus;

/** Refused before anything was done: the key is none, or may not do this, or asks too often. */
const UNEXAMINED: ReadonlySet<number> = new Set([401, 403, 429]);
/** The documents' own: the request, or the card, was refused. */
const DEFINITIVE: ReadonlySet<number> = new Set([400, 402, 404]);

/** `{error: {type, code?, decline_code?, message?}}` beside an HTTP status. */
export function stripeAnswer(answer: HttpAnswer): StripeAnswer {
  if (answer.kind !== 'answered') return answer;
  const { status, body } = answer;
  if (!isObject(body)) return { kind: 'unknown', detail: `HTTP ${String(status)} with an unreadable body` };
  if (status === 200) return { kind: 'object', object: body };
  const error = objectAt(body, 'error');
  const type = textAt(error, 'type') ?? 'no type';
  const code = textAt(error, 'decline_code') ?? textAt(error, 'code') ?? type;
  const detail = `HTTP ${String(status)}, ${type}: ${textAt(error, 'message') ?? 'no message'}`;
  if (UNEXAMINED.has(status)) return { kind: 'unsent', detail, ...(status === 429 && { isTooOften: true }) };
  // The same key with other fields: what the first call did is not known.
  if (!DEFINITIVE.has(status) || type === 'idempotency_error' || type === 'api_error')
    return { kind: 'unknown', detail };
  return { kind: 'refused', code: code.slice(0, 64), detail };
}
