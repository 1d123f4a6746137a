import { RECEIPT_LANGUAGES, type ReceiptLanguage } from '#paper';
import { WORD_TABLE } from './word-table.js';

export type Language = ReceiptLanguage;
export const LANGUAGES = RECEIPT_LANGUAGES;
export type WordKey = keyof typeof WORD_TABLE;

/** A text of the screen in the visitor's language; `{name}` in it is replaced by the value of that name. */
export type Say = (key: WordKey, values?: Readonly<Record<string, string>>) => string;

const SAYS: Readonly<Record<Language, Say>> = { ru: sayIn(0), uz: sayIn(1), en: sayIn(2) };

export function sayer(language: Language): Say {
  return SAYS[language];
}

function sayIn(column: 0 | 1 | 2): Say {
  return (key, values) =>
    WORD_TABLE[key][column].replace(/\{(\w+)\}/g, (whole, name: string) => values?.[name] ?? whole);
}

export function isLanguage(text: unknown): text is Language {
  return LANGUAGES.some((language) => language === text);
}

/** The best of our languages for an Accept-Language header (RFC 9110, section 12.5.4); `null` when it names none of them. */
export function preferredLanguage(header: string | undefined): Language | null {
  let best: Language | null = null;
  let bestWeight = 0;
  for (const range of (header ?? '').split(',')) {
    const [tag = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const [primary] = tag.split('-', 1);
    const given = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = given === undefined ? 1 : Number(given.slice(2));
    if (!isLanguage(primary) || !(weight > bestWeight && weight <= 1)) continue;
    best = primary;
    bestWeight = weight;
  }
  return best;
}
