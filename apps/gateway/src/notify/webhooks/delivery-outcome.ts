import { truncateText } from '#fiscal-domain';
import { type GuardedAnswer } from '#outgoing';
import { systemClock } from '#runtime';
import type { AfterAttempt, AttemptRecord, ClaimedEndpoint } from './delivery.repository.js';
import { readRetryAfterMs, retryDelayMs } from './delivery-schedule.js';
import { SLOW_MS } from './sending-window.js';

export type Result = 'delivered' | 'failed' | 'gone';

/** Characters of an answer that are kept. */
const KEPT_ANSWER = 512;
const GONE = 410;
const REQUEST_TIMEOUT = 408;
const TOO_MANY_REQUESTS = 429;

/** 2xx alone is success; a redirect is not followed and fails. */
export function resultOf(answer: GuardedAnswer): Result {
  if (answer.kind !== 'answered') return 'failed';
  if (isSuccess(answer.status)) return 'delivered';
  return answer.status === GONE ? 'gone' : 'failed';
}

/** Whether the receiver is at its limit; what it merely does not like (another 4xx) says nothing about that. */
export function isTooMuch(answer: GuardedAnswer, durationMs: number): boolean {
  if (answer.kind === 'refused') return false;
  if (answer.kind !== 'answered' || durationMs >= SLOW_MS) return true;
  return answer.status >= 500 || answer.status === TOO_MANY_REQUESTS || answer.status === REQUEST_TIMEOUT;
}

export function afterwards(
  result: Result,
  { endpoint, number, answer }: { endpoint: ClaimedEndpoint; number: number; answer: GuardedAnswer },
): AfterAttempt {
  if (result === 'delivered') return { kind: 'delivered' };
  // Only this receipt's callback is gone: the origin may serve others.
  if (result === 'gone') return endpoint.kind === 'endpoint' ? { kind: 'kept' } : { kind: 'given_up' };
  const header = answer.kind === 'answered' ? answer.headers['retry-after'] : undefined;
  const delayMs = retryDelayMs(number, readRetryAfterMs(header, systemClock.now().getTime()), Math.random());
  return delayMs === null ? { kind: 'given_up' } : { kind: 'retry', delayMs };
}

export function recordOf(answer: GuardedAnswer): Pick<AttemptRecord, 'outcome' | 'httpStatus' | 'answer'> {
  switch (answer.kind) {
    case 'answered': {
      const text = truncateText(answer.body.toString('utf8').replaceAll('\0', ''), KEPT_ANSWER);
      const outcome = isSuccess(answer.status) ? 'delivered' : 'refused_by_receiver';
      return { outcome, httpStatus: answer.status, answer: text };
    }
    case 'failed':
      return { outcome: answer.reason, httpStatus: answer.status ?? null, answer: null };
    case 'not_sent':
      return { outcome: 'not_sent', httpStatus: null, answer: answer.reason };
    case 'refused':
      return { outcome: 'address_not_allowed', httpStatus: null, answer: answer.reason };
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}
