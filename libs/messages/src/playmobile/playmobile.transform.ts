import { briefly, jsonOf, textAt, type WireAnswer } from '../exchange.js';
import type { ProviderReport, SendOutcome, StatusOutcome } from '../port.js';
import { isObject } from '#fiscal-domain';

const INTERNAL_ERROR = '100';
const ACCOUNT_LOCK = '102';

/** Any 2xx means that the request was received; 400 names the reason in `error_code`. */
export function playmobileSent(answer: WireAnswer, id: string): SendOutcome {
  if (answer.kind === 'unsent')
    return { kind: 'not_now', code: 'unreachable', detail: answer.detail, retryAfterMs: null };
  if (answer.kind === 'unknown') return { kind: 'unclear', detail: answer.detail };
  const { status, text } = answer;
  if (status >= 200 && status < 300) return { kind: 'sent', providerRef: id };
  const body = jsonOf(text);
  const error = textAt(body, 'error_code');
  const detail = briefly(textAt(body, 'error_description') ?? text) || 'no message';
  const code = error ?? `HTTP ${String(status)}`;
  if (status === 401 || status === 403 || error === ACCOUNT_LOCK) return { kind: 'account_refused', code, detail };
  if (status === 429) return { kind: 'not_now', code, detail, retryAfterMs: null };
  if (status >= 500 || error === INTERNAL_ERROR) return { kind: 'unclear', detail: `${code}: ${detail}` };
  return { kind: 'refused', code, detail };
}

type Status = Extract<StatusOutcome, { kind: 'status' }>;

/** Any other word changes nothing. */
const STATES: Readonly<Record<string, Status['state']>> = {
  transmitted: 'sent',
  delivered: 'delivered',
  notdelivered: 'failed',
  rejected: 'failed',
  failed: 'failed',
  expired: 'failed',
};

/** Its reports: `{messages: [{message-id, channel, status, status-date}]}`. */
export function playmobileReports(body: unknown): readonly ProviderReport[] | null {
  const entries = isObject(body) ? body['messages'] : undefined;
  if (!Array.isArray(entries)) return null;
  return entries.flatMap((entry: unknown) => {
    const [messageId, word] = [textAt(entry, 'message-id'), textAt(entry, 'status')];
    if (messageId === null || word === null) return [];
    const state = STATES[word.toLowerCase()] ?? 'sent';
    const nothing = { providerRef: messageId, parts: null, costTiyin: null };
    return [
      { messageId, providerRef: null, status: { kind: 'status', state, ...nothing, word, isAddressRefused: false } },
    ];
  });
}
