import { truncateText } from '#fiscal-domain';
import {
  REPEATS_WHEN_UNCLEAR,
  withoutAddresses,
  type MessageChannel,
  type SendOutcome,
  type StatusOutcome,
} from '#messages';
import { retryDelayMs } from '../webhooks/delivery-schedule.js';
import { NO_CHANGE_BESIDE, type AttemptEnd, type MessageChange } from './message.repository.js';
import { ASK_DELAYS_MS, MESSAGE_DELAYS_MS } from './message-schedule.js';

interface Tried {
  channel: MessageChannel;
  /** Tries so far, this one included. */
  number: number;
  random: number;
}

/** What follows from a try. Only what surely sent nothing is tried again where a copy would cost money. */
export function afterTry(outcome: SendOutcome, { channel, number, random }: Tried): MessageChange {
  switch (outcome.kind) {
    case 'sent':
      return { ...NO_CHANGE_BESIDE, state: 'sent', providerRef: outcome.providerRef };
    case 'address_refused':
      return { ...NO_CHANGE_BESIDE, state: 'failed', reason: 'address_refused' };
    case 'refused':
      return { ...NO_CHANGE_BESIDE, state: 'failed', reason: 'refused' };
    case 'account_refused':
      // Due at once when the account is enabled again.
      return { ...NO_CHANGE_BESIDE, state: 'pending' };
    case 'not_now':
      return retried(retryDelayMs(number, outcome.retryAfterMs, random, MESSAGE_DELAYS_MS[channel]));
    case 'unclear': {
      if (!REPEATS_WHEN_UNCLEAR[channel]) return unclear(0, random);
      return retried(retryDelayMs(number, null, random, MESSAGE_DELAYS_MS[channel]));
    }
  }
}

/** A try whose process has gone: it may have been sent. */
export function afterInterruption({ channel, random }: Tried): MessageChange {
  return REPEATS_WHEN_UNCLEAR[channel] ? { ...NO_CHANGE_BESIDE, state: 'pending' } : unclear(0, random);
}

/** @param asked how often before */
export function unclear(asked: number, random: number): MessageChange {
  const delayMs = retryDelayMs(asked + 1, null, random, ASK_DELAYS_MS);
  if (delayMs === null) return { ...NO_CHANGE_BESIDE, state: 'failed', reason: 'unclear' };
  return { ...NO_CHANGE_BESIDE, state: 'unclear', delayMs };
}

/** What a provider's answer or report says of a message that it has. */
export function byStatus(status: Extract<StatusOutcome, { kind: 'status' }>): MessageChange {
  const { state, providerRef, parts, costTiyin, word, isAddressRefused } = status;
  const reason = isAddressRefused ? 'address_refused' : 'not_delivered';
  return {
    ...{ state, providerRef, parts, costTiyin, delayMs: 0 },
    reason: state === 'failed' ? reason : null,
    providerWord: truncateText(withoutAddresses(word), 60),
  };
}

export function attemptEnd(number: number, durationMs: number, outcome: SendOutcome): AttemptEnd {
  return {
    ...{ number, durationMs, outcome: outcome.kind },
    code: 'code' in outcome ? truncateText(outcome.code, 60) : null,
    detail: 'detail' in outcome ? truncateText(withoutAddresses(outcome.detail), 300) : null,
  };
}

function retried(delayMs: number | null): MessageChange {
  if (delayMs === null) return { ...NO_CHANGE_BESIDE, state: 'failed', reason: 'gave_up' };
  return { ...NO_CHANGE_BESIDE, state: 'pending', delayMs };
}
