export { addressKey, maskedAddress, readAddress, readEmail, readPhone, withoutAddresses } from './address.js';
export { type Reach, type SocketRequest, type WireAnswer, type WireRequest } from './exchange.js';
export {
  CHANNELS,
  REPEATS_WHEN_UNCLEAR,
  type Attachment,
  type MessageChannel,
  type MessageProviderCode,
  type MessageSender,
  type OutgoingMessage,
  type ProviderReport,
  type SendOutcome,
  type StatusOutcome,
} from './port.js';
export { isMessageProvider, MESSAGE_DEFINITIONS } from './registry.js';
export { smsSize } from './sms-parts.js';
export { TelegramClient, type TelegramReply } from './telegram/telegram.client.js';
export { readTelegramUpdate, type TelegramUpdate } from './telegram/telegram.updates.js';
export { emailHtml, emailText, LOGO_CID, type EmailContent } from './templates/email-html.js';
export { renderText, type MessageFacts } from './templates/render.js';
export { addressIn, templateFault, withoutHomographs } from './templates/template.js';
export { DEFAULT_TEMPLATES, MESSAGE_LANGUAGES, type MessageLanguage, type MessageTemplate } from './templates/words.js';
