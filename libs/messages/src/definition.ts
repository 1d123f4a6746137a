import type { Reach } from './exchange.js';
import type { MessageChannel, MessageProviderCode, MessageSender, ProviderReport } from './port.js';

/** One field of an account: where it is kept, and what it must look like. */
export interface AccountField {
  secret: boolean;
  required: boolean;
  pattern: RegExp;
  fallback?: string;
}

export type ReadValue = (name: string) => string;

export interface FieldFault {
  field: string;
  detail: string;
}

/** All that the gateway has to know of a provider. */
export interface MessageProviderDefinition {
  readonly code: MessageProviderCode;
  readonly channel: MessageChannel;
  readonly fields: Readonly<Record<string, AccountField>>;
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

const TEXT = /^[\x21-\x7e]{1,200}$/;

export function field(more: Partial<AccountField> = {}): AccountField {
  return { secret: false, required: true, pattern: TEXT, ...more };
}

export function optional(more: Partial<AccountField> = {}): AccountField {
  return field({ required: false, ...more });
}

export const SECRET = field({ secret: true });

export function webAddress(fallback: string): AccountField {
  return optional({ pattern: /^https?:\/\/[^\s]{1,500}$/, fallback });
}

/** One of a few words; the first is the one that counts where none was chosen. */
export function choice(...words: readonly [string, ...string[]]): AccountField {
  return optional({ pattern: new RegExp(`^(${words.join('|')})$`), fallback: words[0] });
}

/** A line that people read: no control characters, no angle brackets. */
export const LINE_PATTERN = /^[^\u0000-\u001f\u007f<>]{1,100}$/;
