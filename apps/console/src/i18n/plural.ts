import { formatCount } from '../format/money.js';

export type Language = 'ru' | 'uz' | 'en';

/** Forms by the rules of the language; `other` is always there. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

const RULES: Record<Language, Intl.PluralRules> = {
  ru: new Intl.PluralRules('ru'),
  uz: new Intl.PluralRules('uz'),
  en: new Intl.PluralRules('en'),
};

/** `1 receipt`, `2 чека`, `5 чеков`. */
export function count(language: Language, number: number, forms: Forms): string {
  return `${formatCount(number)} ${forms[RULES[language].select(number)] ?? forms.other}`;
}
