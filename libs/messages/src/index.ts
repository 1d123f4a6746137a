export {
  addressKey,
  maskedAddress,
  readAddress,
  readChat,
  readEmail,
  readPhone,
  withoutAddresses,
  type AddressReading,
} from './address.js';
export type { FieldFault, MessageProviderDefinition } from './definition.js';
export { type Reach, type SocketRequest, type WireAnswer, type WireRequest } from './exchange.js';
export {
  CHANNELS,
  MESSAGE_PROVIDERS,
  REPEATS_WHEN_UNCLEAR,
  type Attachment,
  type EmailParts,
  type MessageChannel,
  type MessageProviderCode,
  type MessageQuestion,
  type MessageSender,
  type OutgoingMessage,
  type ProviderReport,
  type SendOutcome,
  type StatusOutcome,
} from './port.js';
export { isMessageProvider, MESSAGE_DEFINITIONS } from './registry.js';
export { plainForSms, smsSize, type SmsSize } from './sms-parts.js';
export { TelegramClient, type TelegramReply } from './telegram/telegram.client.js';
export { readTelegramUpdate, type TelegramUpdate } from './telegram/telegram.updates.js';
export { emailHtml, emailText, LOGO_CID, type EmailContent } from './templates/email-html.js';
export { renderText, templateValues, type MessageFacts, type RenderedText } from './templates/render.js';
export { addressIn, templateFault, withoutHomographs } from './templates/template.js';
export {
  CURRENCY_WORDS,
  DEFAULT_TEMPLATES,
  EMAIL_WORDS,
  KIND_WORDS,
  MESSAGE_LANGUAGES,
  type MessageLanguage,
  type MessageTemplate,
} from './templates/words.js';
