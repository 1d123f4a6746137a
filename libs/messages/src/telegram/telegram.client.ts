import type { Reach } from '../exchange.js';
import type { MessageSender, OutgoingMessage, SendOutcome } from '../port.js';
import { telegramSent } from './telegram.transform.js';

export interface TelegramOptions {
  /** `https://api.telegram.org` */
  apiUrl: string;
  token: string;
}

/** What a reply of the bot has beside its text. */
export interface TelegramReply {
  chatId: string;
  text: string;
  keyboard: { kind: 'contact'; label: string } | { kind: 'none' } | null;
}

/** A bot of the merchant's, by plain calls of the Bot API. */
export class TelegramClient implements MessageSender {
  constructor(
    private readonly options: TelegramOptions,
    private readonly reach: Reach,
  ) {}

  send({ to, text, isQuiet }: OutgoingMessage): Promise<SendOutcome> {
    return this.call({ chat_id: to, text, disable_notification: isQuiet, ...WITHOUT_PREVIEW });
  }

  reply({ chatId, text, keyboard }: TelegramReply): Promise<SendOutcome> {
    return this.call({
      ...{ chat_id: chatId, text, ...WITHOUT_PREVIEW },
      ...(keyboard?.kind === 'contact' && {
        reply_markup: {
          keyboard: [[{ text: keyboard.label, request_contact: true }]],
          ...{ one_time_keyboard: true, resize_keyboard: true },
        },
      }),
      ...(keyboard?.kind === 'none' && { reply_markup: { remove_keyboard: true } }),
    });
  }

  private async call(body: Record<string, unknown>): Promise<SendOutcome> {
    const { apiUrl, token } = this.options;
    const answer = await this.reach.http({
      ...{ method: 'POST', url: `${apiUrl}/bot${token}/sendMessage`, body: JSON.stringify(body) },
      headers: { accept: 'application/json', 'content-type': 'application/json' },
    });
    return telegramSent(answer);
  }
}

/** No server fetches the receipt's page, and with it the receipt, for a picture of it. */
const WITHOUT_PREVIEW = { link_preview_options: { is_disabled: true } };
