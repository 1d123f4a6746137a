import { createContext, useContext, type ReactElement, type ReactNode } from 'react';
import type { words as english } from './en/words.js';
import type { Language } from './plural.js';

export type Words = typeof english;

export const LANGUAGES: readonly { code: Language; name: string }[] = [
  { code: 'ru', name: 'Русский' },
  { code: 'uz', name: 'O‘zbekcha' },
  { code: 'en', name: 'English' },
];

const KEY = 'console-language';

/** Only the language that is shown is loaded. */
const TABLES: Record<Language, () => Promise<{ words: Words }>> = {
  ru: () => import('./ru/words.js'),
  uz: () => import('./uz/words.js'),
  en: () => import('./en/words.js'),
};

export async function loadWords(language: Language): Promise<Words> {
  return (await TABLES[language]()).words;
}

/** What was chosen, else the browser's first language that there is, else Russian. */
export function preferredLanguage(): Language {
  const wanted = [localStorage.getItem(KEY) ?? '', ...navigator.languages].map((name) =>
    name.slice(0, 2).toLowerCase(),
  );
  return (
    LANGUAGES.find(({ code }) => wanted.find((name) => LANGUAGES.some((one) => one.code === name)) === code)?.code ??
    'ru'
  );
}

export function keepLanguage(language: Language): void {
  localStorage.setItem(KEY, language);
}

interface Spoken {
  language: Language;
  words: Words;
  speak: (language: Language) => void;
}

const Context = createContext<Spoken | null>(null);

export function LanguageProvider({ value, children }: { value: Spoken; children: ReactNode }): ReactElement {
  return <Context value={value}>{children}</Context>;
}

export function useLanguage(): Spoken {
  const spoken = useContext(Context);
  if (!spoken) throw new Error('no language above this component');
  return spoken;
}

export function useWords(): Words {
  return useLanguage().words;
}
