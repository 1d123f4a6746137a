import { briefly, jsonOf, numberAt, textAt, type WireAnswer } from '../exchange.js';
import type { MessageQuestion, ProviderReport, SendOutcome, StatusOutcome } from '../port.js';
import { isObject } from '#fiscal-domain';

type Status = Extract<StatusOutcome, { kind: 'status' }>;

/** Words of a message and of its parts, as they come in answers and reports. Any other word changes nothing. */
const STATES: Readonly<Record<string, Status['state']>> = {
  NEW: 'sent',
  STORED: 'sent',
  ACCEPTED: 'sent',
  PARTDELIVERED: 'sent',
  ENROUTE: 'sent',
  UNKNOWN: 'sent',
  DELIVERED: 'delivered',
  DELIVRD: 'delivered',
  REJECTED: 'failed',
  REJECTD: 'failed',
  UNDELIV: 'failed',
  UNDELIVERABLE: 'failed',
  EXPIRED: 'failed',
  DELETED: 'failed',
};
/** "The number is on the black list": nothing else will arrive there either. */
const ADDRESS_REFUSED: ReadonlySet<string> = new Set(['REJECTED', 'REJECTD']);
const TIYIN_PER_SOM = 100;

export function eskizStatus(word: string, more: Partial<Status> = {}): Status {
  return {
    kind: 'status',
    state: STATES[word] ?? 'sent',
    ...{ providerRef: null, parts: null, costTiyin: null, ...more },
    ...{ word, isAddressRefused: ADDRESS_REFUSED.has(word) },
  };
}

const TOO_OFTEN = 429;
const NOT_PAID = 402;

/** What the sending of one message was answered with; 401 is the client's business. */
export function eskizSent(answer: WireAnswer): SendOutcome {
  if (answer.kind === 'unsent')
    return { kind: 'not_now', code: 'unreachable', detail: answer.detail, retryAfterMs: null };
  if (answer.kind === 'unknown') return { kind: 'unclear', detail: answer.detail };
  const { status, text } = answer;
  const body = jsonOf(text);
  const code = `HTTP ${String(status)}`;
  const detail = briefly(textAt(body, 'message') ?? textAt(body, 'error') ?? text) || 'no message';
  if (status === TOO_OFTEN) return { kind: 'not_now', code, detail, retryAfterMs: null };
  if (status === NOT_PAID) return { kind: 'account_refused', code, detail };
  if (status >= 400 && status < 500) return { kind: 'refused', code, detail };
  const id = textAt(body, 'id');
  if (status < 200 || status >= 300 || !isObject(body) || id === null)
    return { kind: 'unclear', detail: `${code}: ${detail}` };
  return { kind: 'sent', providerRef: id };
}

/** `GET …/status_by_id/{id}`. */
export function eskizStatusById(answer: WireAnswer): StatusOutcome {
  if (answer.kind !== 'answered') return { kind: 'unanswered', detail: answer.detail };
  if (answer.status === 404) return { kind: 'not_found' };
  const body = jsonOf(answer.text);
  const data = isObject(body) ? body['data'] : undefined;
  if (answer.status !== 200 || !isObject(data)) {
    return { kind: 'unanswered', detail: `HTTP ${String(answer.status)}: ${briefly(answer.text)}` };
  }
  return statusOfEntry(data) ?? { kind: 'unanswered', detail: 'the answer has no status' };
}

export interface EskizPage {
  kind: 'page';
  found: Status | null;
  hasMore: boolean;
}

/** A page of `POST …/get-user-messages`: the message that has our id, or one of the same text to the same phone. */
export function eskizFind(
  answer: WireAnswer,
  question: MessageQuestion,
): EskizPage | { kind: 'unanswered'; detail: string } {
  if (answer.kind !== 'answered') return { kind: 'unanswered', detail: answer.detail };
  const body = jsonOf(answer.text);
  const data = isObject(body) ? body['data'] : undefined;
  const entries = isObject(data) ? data['result'] : undefined;
  if (answer.status !== 200 || !Array.isArray(entries)) {
    return { kind: 'unanswered', detail: `HTTP ${String(answer.status)}: ${briefly(answer.text)}` };
  }
  const entry = entries.find((one) => isSame(one, question)) as unknown;
  const hasMore = (numberAt(data, 'current_page') ?? 1) < (numberAt(data, 'last_page') ?? 1);
  return { kind: 'page', found: entry === undefined ? null : statusOfEntry(entry), hasMore };
}

function isSame(entry: unknown, { id, to, text }: MessageQuestion): boolean {
  const own = textAt(entry, 'user_sms_id');
  if (own !== null) return own === id;
  // A text holds the address of its receipt: no other message to this phone has the same.
  return textAt(entry, 'to') === to && textAt(entry, 'message') === text;
}

function statusOfEntry(entry: unknown): Status | null {
  const word = textAt(entry, 'status');
  if (word === null) return null;
  const parts = numberAt(entry, 'parts_count');
  const [price, total] = [numberAt(entry, 'price'), numberAt(entry, 'total_price')];
  const som = total ?? (price === null || parts === null ? null : price * parts);
  const costTiyin = som === null ? null : Math.round(som * TIYIN_PER_SOM);
  return eskizStatus(word, { providerRef: textAt(entry, 'request_id'), parts, costTiyin });
}

/** The body of a report to `callback_url`. */
export function eskizReports(body: unknown): readonly ProviderReport[] | null {
  const word = textAt(body, 'status');
  const providerRef = textAt(body, 'request_id');
  const messageId = textAt(body, 'user_sms_id');
  if (word === null || (providerRef === null && messageId === null)) return null;
  return [{ messageId, providerRef, status: eskizStatus(word, { providerRef, parts: numberAt(body, 'sms_count') }) }];
}
