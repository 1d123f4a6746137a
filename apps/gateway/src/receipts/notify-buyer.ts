import type { StoredNotify } from '#database';
import type { ProblemError } from '#problems';
import { readEmail, readPhone, type MessageChannel } from '#messages';
import type { NotifyDefault } from '../fleet/merchants/merchant-settings.js';
import type { CustomerBody, ReceiptBody } from './receipt-body.js';

const DEFAULT_LANGUAGE = 'uz';

export interface NotifyTerms {
  /** Of the merchant. */
  byDefault: NotifyDefault;
  /** For which the merchant has an account, also one that is disabled: a provider never decides about a sale. */
  channels: readonly MessageChannel[];
}

/**
 * Over which channels the buyer gets the receipt, decided before anything is stored: what a caller asks for and cannot be done is a
 * fault of the body, what the merchant's default cannot do is left out.
 */
export function notifyOf(
  { notify, customer }: ReceiptBody,
  { byDefault, channels: known }: NotifyTerms,
): { notify: StoredNotify | null; faults: ProblemError[] } {
  const language = notify?.language ?? byDefault.language ?? DEFAULT_LANGUAGE;
  if (notify === undefined || notify === null) {
    const channels = byDefault.channels.filter(
      (channel) => known.includes(channel) && addressFault(channel, customer) === null,
    );
    return { notify: channels.length === 0 ? null : { channels, language }, faults: [] };
  }
  const faults = notify.channels.flatMap((channel, index): ProblemError[] => {
    const fault = addressFault(channel, customer);
    const missing = known.includes(channel)
      ? []
      : [
          {
            ...{ pointer: `/notify/channels/${index}`, code: 'channel_not_configured' },
            detail: `The merchant has no account for ${channel}: make one with POST /v1/message-accounts.`,
          },
        ];
    return fault === null ? missing : [...missing, fault];
  });
  return { notify: notify.channels.length === 0 ? null : { channels: notify.channels, language }, faults };
}

/** A bot finds its chat by the phone that was proven to it. */
function addressFault(channel: MessageChannel, customer: CustomerBody | undefined): ProblemError | null {
  const field = channel === 'email' ? 'email' : 'phone';
  const pointer = `/customer/${field}`;
  const given = customer?.[field];
  if (given === undefined || given === null) {
    return { pointer, code: 'required', detail: `The receipt is to be sent by ${channel}: ${field} is needed.` };
  }
  const reading = field === 'email' ? readEmail(given) : readPhone(given);
  return reading.kind === 'ok' ? null : { pointer, code: 'invalid_format', detail: `${field} ${reading.reason}` };
}
