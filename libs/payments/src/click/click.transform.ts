import { tashkentDateTime } from '#fiscal-domain';
import { statusOf, type MoneyStatus, type NoStatus, type StatusFacts } from '../port.js';
import { integerAt, textAt, type WireObject } from '../wire.js';

/** `payment_status`: below 0 failed or given back, 0 and 1 at work, 2 paid. */
export function clickPaymentStatus(status: number | null): MoneyStatus {
  if (status === null) return 'in_flight';
  if (status === 2) return 'captured';
  return status < 0 ? 'declined' : 'in_flight';
}

/** Each says that a call was not done. */
const NOT_DONE: ReadonlySet<number> = new Set([400, 401, 403, 404, 406, 410]);

/** What an HTTP status means; null: the body decides. On a reading only 404 is about the payment, the others are about the one that asks. */
export function clickFailure(status: number, isReading: boolean): NoStatus | null {
  if (status === 200) return null;
  const detail = `HTTP ${String(status)}`;
  if (!NOT_DONE.has(status)) return { kind: 'unknown', detail };
  if (isReading && status !== 404) return { kind: 'unsent', detail };
  return { kind: 'refused', code: String(status), detail };
}

/** YYYY-MM-DD in Tashkent. */
export function toTashkentDate(atMs: number): string {
  return tashkentDateTime(atMs).slice(0, 10);
}

const CARD_TYPES = { private: 'personal', corporate: 'corporate' } as const;

/** Click Pass: in confirmation mode the money is held for 30 s; without it, it is taken. */
export function clickPassStatus(body: WireObject, confirmableUntilMs: number): StatusFacts {
  const status = clickPaymentStatus(integerAt(body, 'payment_status'));
  const isConfirmable = body['confirm_mode'] === true || integerAt(body, 'confirm_mode') === 1;
  const isHeld = isConfirmable && status !== 'declined';
  const cardType = textAt(body, 'card_type');
  return statusOf(isHeld ? 'authorized' : status, {
    providerRef: textAt(body, 'payment_id'),
    holdExpiresAtMs: isHeld ? confirmableUntilMs : null,
    evidence: {
      rrn: null,
      phone: textAt(body, 'phone_number'),
      cardType: cardType === 'private' || cardType === 'corporate' ? CARD_TYPES[cardType] : null,
    },
  });
}
