import { textAt } from '../exchange.js';
import { isObject } from '#fiscal-domain';

/** What a person said to the bot. Everything else that an update may hold is left alone. */
export type TelegramUpdate =
  | { kind: 'start'; chatId: string; payload: string | null; language: string | null }
  | { kind: 'stop'; chatId: string; language: string | null }
  /** Proof of a number: Telegram says whose contact it is, and it is the sender's own. */
  | { kind: 'own_contact'; chatId: string; phone: string; language: string | null }
  | { kind: 'foreign_contact'; chatId: string; language: string | null }
  | { kind: 'other'; chatId: string; language: string | null };

const START = /^\/start(?:@\w{1,64})?(?:\s+([A-Za-z0-9_-]{1,64}))?\s*$/;
const STOP = /^\/stop(?:@\w{1,64})?\s*$/;

/** @returns null for an update that is none of a private chat */
export function readTelegramUpdate(body: unknown): TelegramUpdate | null {
  const message = isObject(body) ? body['message'] : undefined;
  if (!isObject(message)) return null;
  const [chat, from] = [message['chat'], message['from']];
  const chatId = textAt(chat, 'id');
  // In a group one person would show all others where a receipt comes from.
  if (chatId === null || textAt(chat, 'type') !== 'private') return null;
  const common = { chatId, language: textAt(from, 'language_code') };
  const contact = message['contact'];
  if (isObject(contact)) {
    const phone = textAt(contact, 'phone_number');
    const isOwn = textAt(contact, 'user_id') !== null && textAt(contact, 'user_id') === textAt(from, 'id');
    // A forwarded contact keeps the number of the person that it is of, not the sender's proof.
    const isForwarded = message['forward_origin'] !== undefined || message['forward_date'] !== undefined;
    if (phone === null || !isOwn || isForwarded) return { kind: 'foreign_contact', ...common };
    return { kind: 'own_contact', phone: phone.replace(/^\+/, ''), ...common };
  }
  const text = textAt(message, 'text') ?? '';
  const start = START.exec(text);
  if (start) return { kind: 'start', payload: start[1] ?? null, ...common };
  return STOP.test(text) ? { kind: 'stop', ...common } : { kind: 'other', ...common };
}
