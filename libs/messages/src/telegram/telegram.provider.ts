import { field, SECRET, webAddress } from '#outgoing';
import type { MessageProviderDefinition } from '../definition.js';
import { TelegramClient } from './telegram.client.js';

export const TELEGRAM: MessageProviderDefinition = {
  channel: 'telegram',
  fields: {
    api_url: webAddress('https://api.telegram.org'),
    /** Name of the bot without @, for the link on the receipt's page. */
    bot: field({ pattern: /^[A-Za-z][A-Za-z0-9_]{3,30}[Bb][Oo][Tt]$/ }),
    token: { ...SECRET, pattern: /^\d{5,16}:[A-Za-z0-9_-]{20,80}$/ },
    /** What Telegram sends along with each update (`secret_token` of setWebhook). */
    webhook_secret: { ...SECRET, pattern: /^[A-Za-z0-9_-]{16,256}$/ },
  },
  places: ['api_url'],
  sender: (read, reach) => new TelegramClient({ apiUrl: read('api_url'), token: read('token') }, reach),
};
