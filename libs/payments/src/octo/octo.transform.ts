import type { HttpAnswer } from '../http-exchange.js';
import { statusOf, type MoneyStatus, type NoStatus, type StatusFacts } from '../port.js';
import { somToTiyin } from '../som.js';
import { integerAt, isObject, objectAt, rrnOf, textAt, type WireObject } from '../wire.js';

const STATUS: Readonly<Record<string, MoneyStatus>> = {
  created: 'pending',
  wait_user_action: 'pending',
  waiting_for_capture: 'authorized',
  succeeded: 'captured',
  canceled: 'voided',
  failed: 'declined',
  refunded: 'refunded',
  partially_refunded: 'captured',
};

/** A payment as Octo shows it; what it leaves out is not known. */
export function octoPaymentStatus(payment: WireObject): StatusFacts {
  const said = STATUS[textAt(payment, 'status') ?? ''] ?? 'in_flight';
  const amountTiyin = tiyinAt(payment, 'total_sum');
  const refundedTiyin = tiyinAt(payment, 'refunded_sum');
  const currency = textAt(payment, 'currency');
  const isOther = currency !== null && currency !== 'UZS';
  const isOdd = isOther || isUnreadable(payment, 'total_sum') || isUnreadable(payment, 'refunded_sum');
  const page = textAt(payment, 'octo_pay_url');
  return statusOf(isOdd ? 'manual' : moneyOf(said, amountTiyin, refundedTiyin), {
    providerRef: textAt(payment, 'octo_payment_UUID'),
    // The answer that had the page may have been lost: the status names it again.
    nextAction: said === 'pending' && page !== null ? { type: 'redirect', url: page } : null,
    amountTiyin,
    refundedTiyin,
    evidence: { rrn: rrnOf(textAt(payment, 'rrn')), phone: null, cardType: null },
  });
}

/** Some shops are shown what went back only by its sum; a part that went back is never the whole, whatever it is called. */
function moneyOf(said: MoneyStatus, amountTiyin: number | null, refundedTiyin: number | null): MoneyStatus {
  if (amountTiyin === null || refundedTiyin === null) return said;
  if (said === 'captured' && refundedTiyin === amountTiyin && amountTiyin > 0) return 'refunded';
  return said === 'refunded' && refundedTiyin < amountTiyin ? 'captured' : said;
}

/** A sum that is named and cannot be read: what it is of, people decide. */
function isUnreadable(payment: WireObject, key: string): boolean {
  return payment[key] !== undefined && payment[key] !== null && tiyinAt(payment, key) === null;
}

function tiyinAt(payment: WireObject, key: string): number | null {
  const found = payment[key];
  if (typeof found !== 'number' && typeof found !== 'string') return null;
  const read = somToTiyin(found);
  return read.kind === 'ok' ? read.tiyin : null;
}

export type OctoAnswer = { kind: 'data'; data: WireObject } | NoStatus;

/** Refused before anything was read: asked too often. */
const TOO_OFTEN = 11;
/** A format or a secret that is wrong, a sum that cannot be: the documents' own list. */
const DEFINITIVE: ReadonlySet<number> = new Set([1, 2, 3]);

/** `{error, errMessage, data}`, always HTTP 200. */
export function octoAnswer(answer: HttpAnswer): OctoAnswer {
  if (answer.kind !== 'answered') return answer;
  const { status, body } = answer;
  if (!isObject(body) || status >= 500) return { kind: 'unknown', detail: `HTTP ${String(status)}` };
  const error = integerAt(body, 'error');
  // Older shops have the fields beside `error`.
  if (error === 0) return { kind: 'data', data: isObject(body['data']) ? objectAt(body, 'data') : body };
  const detail = textAt(body, 'errMessage') ?? textAt(body, 'errorMessage') ?? 'no message';
  if (error === TOO_OFTEN) return { kind: 'unsent', detail: `error 11: ${detail}`, isTooOften: true };
  if (error !== null && DEFINITIVE.has(error)) return { kind: 'refused', code: String(error), detail };
  return { kind: 'unknown', detail: `error ${String(error)}: ${detail}` };
}
