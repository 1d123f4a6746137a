import type { MessageProviderDefinition } from './definition.js';
import { ESKIZ } from './eskiz/eskiz.provider.js';
import { PLAYMOBILE } from './playmobile/playmobile.provider.js';
import { MESSAGE_PROVIDERS, type MessageProviderCode } from './port.js';
import { SMTP } from './smtp/smtp.provider.js';
import { TELEGRAM } from './telegram/telegram.provider.js';

/** Every provider that there is: a new one is a line here and a word in `MESSAGE_PROVIDERS`. */
export const MESSAGE_DEFINITIONS: Readonly<Record<MessageProviderCode, MessageProviderDefinition>> = {
  smtp: SMTP,
  eskiz: ESKIZ,
  playmobile: PLAYMOBILE,
  telegram: TELEGRAM,
};

export function isMessageProvider(text: string): text is MessageProviderCode {
  return (MESSAGE_PROVIDERS as readonly string[]).includes(text);
}
