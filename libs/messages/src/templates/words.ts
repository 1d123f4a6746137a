import type { MessageChannel } from '../port.js';

export const MESSAGE_LANGUAGES = ['uz', 'ru', 'en'] as const;
export type MessageLanguage = (typeof MESSAGE_LANGUAGES)[number];

/** What a merchant may word differently, for a channel and language. */
export interface MessageTemplate {
  /** Of an e-mail; empty for other channels. */
  subject: string;
  text: string;
}

export const DEFAULT_TEMPLATES: Readonly<Record<MessageChannel, Readonly<Record<MessageLanguage, MessageTemplate>>>> = {
  email: {
    uz: { subject: '{merchant}: {kind}, {total}', text: '{kind} — {merchant}.\n\nXaridingiz uchun rahmat.' },
    ru: { subject: '{merchant}: {kind}, {total}', text: '{kind} — {merchant}.\n\nСпасибо за покупку.' },
    en: { subject: '{merchant}: {kind}, {total}', text: '{kind} — {merchant}.\n\nThank you for your purchase.' },
  },
  sms: {
    uz: { subject: '', text: '{merchant}: {kind} {total}. {link}' },
    ru: { subject: '', text: '{merchant}: {kind} {total}. {link}' },
    en: { subject: '', text: '{merchant}: {kind} {total}. {link}' },
  },
  telegram: {
    uz: { subject: '', text: '{merchant}\n{kind} №{number}, {date}\nJami: {total}\n{link}' },
    ru: { subject: '', text: '{merchant}\n{kind} №{number}, {date}\nИтого: {total}\n{link}' },
    en: { subject: '', text: '{merchant}\n{kind} No. {number}, {date}\nTotal: {total}\n{link}' },
  },
};

const EMAIL_UZ = {
  ...{ open: 'Chekni ochish', total: 'Jami', date: 'Sana', number: 'Chek raqami' },
  attached: 'Chek PDF ko‘rinishida ilova qilingan.',
  sentBy: 'Bu xat sotuvchi nomidan yuborildi:',
  unsubscribe: 'Bu sotuvchidan bunday xatlarni olmaslik',
  test: 'Sinov xabari',
};

/** Words of the e-mail around the template. */
export const EMAIL_WORDS: Readonly<Record<MessageLanguage, typeof EMAIL_UZ>> = {
  uz: EMAIL_UZ,
  ru: {
    ...{ open: 'Открыть чек', total: 'Итого', date: 'Дата', number: 'Номер чека' },
    attached: 'Чек приложен в формате PDF.',
    sentBy: 'Письмо отправлено от имени продавца:',
    unsubscribe: 'Не получать такие письма от этого продавца',
    test: 'Тестовое сообщение',
  },
  en: {
    ...{ open: 'Open the receipt', total: 'Total', date: 'Date', number: 'Receipt number' },
    attached: 'The receipt is attached as PDF.',
    sentBy: 'Sent on behalf of the seller:',
    unsubscribe: 'Do not send me such letters from this seller',
    test: 'Test message',
  },
};

/** What was sold and came back; without letters that an SMS would have to be sent in two parts for. */
export const KIND_WORDS: Readonly<
  Record<MessageLanguage, Readonly<Record<'sale' | 'refund' | 'advance' | 'credit', string>>>
> = {
  uz: { sale: 'Chek', refund: 'Qaytarish cheki', advance: 'Avans cheki', credit: 'Kredit cheki' },
  ru: { sale: 'Чек', refund: 'Чек возврата', advance: 'Чек аванса', credit: 'Чек кредита' },
  en: { sale: 'Receipt', refund: 'Refund receipt', advance: 'Advance receipt', credit: 'Credit receipt' },
};

export const CURRENCY_WORDS: Readonly<Record<MessageLanguage, string>> = { uz: "so'm", ru: 'сум', en: 'UZS' };
