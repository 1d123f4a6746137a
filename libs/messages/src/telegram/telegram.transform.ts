import { briefly, jsonOf, numberAt, textAt, type WireAnswer } from '../exchange.js';
import type { SendOutcome } from '../port.js';
import { isObject } from '#fiscal-domain';

const SECOND_MS = 1_000;

/** `{ok, result | error_code, description, parameters}`. */
export function telegramSent(answer: WireAnswer): SendOutcome {
  if (answer.kind === 'unsent')
    return { kind: 'not_now', code: 'unreachable', detail: answer.detail, retryAfterMs: null };
  if (answer.kind === 'unknown') return { kind: 'unclear', detail: answer.detail };
  const body = jsonOf(answer.text);
  if (isObject(body) && body['ok'] === true) {
    return { kind: 'sent', providerRef: textAt(body['result'], 'message_id') };
  }
  const status = numberAt(body, 'error_code') ?? answer.status;
  const detail = briefly(textAt(body, 'description') ?? answer.text) || 'no description';
  const code = String(status);
  if (status === 429) {
    const seconds = numberAt(isObject(body) ? body['parameters'] : undefined, 'retry_after');
    return { kind: 'not_now', code, detail, retryAfterMs: seconds === null ? null : seconds * SECOND_MS };
  }
  // No bot has this token: revoked, or mistyped.
  if (status === 401 || status === 404) return { kind: 'account_refused', code, detail };
  if (status === 403 || (status === 400 && /chat not found/i.test(detail))) {
    return { kind: 'address_refused', code, detail };
  }
  if (status >= 400 && status < 500) return { kind: 'refused', code, detail };
  return { kind: 'unclear', detail: `${code}: ${detail}` };
}
