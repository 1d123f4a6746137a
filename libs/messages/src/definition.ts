import type { AccountFields, ReadValue } from '#outgoing';
import type { Reach } from './exchange.js';
import type { MessageChannel, MessageSender, ProviderReport } from './port.js';

export interface FieldFault {
  field: string;
  detail: string;
}

/** All that the gateway has to know of a provider. */
export interface MessageProviderDefinition {
  readonly channel: MessageChannel;
  readonly fields: AccountFields;
  /** Fields that say where its secrets are sent. Another value needs the secrets again. */
  readonly places: readonly string[];
  /** @returns what is wrong with the fields together */
  readonly faults?: (read: ReadValue) => readonly FieldFault[];
  readonly sender: (read: ReadValue, reach: Reach) => MessageSender;
  /** What it says of its messages by calling us; null for a body that is none of its reports. */
  readonly reports?: (body: unknown) => readonly ProviderReport[] | null;
  /** What it expects to be answered to a report. */
  readonly reportAnswer?: string;
}

/** A line that people read: no control characters, no angle brackets. */
export const LINE_PATTERN = /^[^\u0000-\u001f\u007f<>]{1,100}$/;
