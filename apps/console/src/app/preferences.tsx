import { useState, type ReactElement } from 'react';
import { LANGUAGES, useLanguage } from '../i18n/i18n.js';
import type { Language } from '../i18n/plural.js';

export type Theme = 'system' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
const THEME_KEY = 'console-theme';

export function preferredTheme(): Theme {
  const kept = localStorage.getItem(THEME_KEY);
  return THEMES.find((theme) => theme === kept) ?? 'system';
}

/** `system` leaves it to the style sheet, which asks the browser. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function LanguageSwitch(): ReactElement {
  const { language, words, speak } = useLanguage();
  return (
    <select
      className="input input-small"
      aria-label={words.language}
      value={language}
      onChange={(event) => speak(event.target.value as Language)}
    >
      {LANGUAGES.map(({ code, name }) => (
        <option key={code} value={code}>
          {name}
        </option>
      ))}
    </select>
  );
}

export function ThemeSwitch(): ReactElement {
  const { words } = useLanguage();
  const [theme, setTheme] = useState(preferredTheme);
  const choose = (next: Theme): void => {
    localStorage.setItem(THEME_KEY, next);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <select
      className="input input-small"
      aria-label={words.theme}
      value={theme}
      onChange={(event) => choose(event.target.value as Theme)}
    >
      {THEMES.map((name) => (
        <option key={name} value={name}>
          {words.themes[name]}
        </option>
      ))}
    </select>
  );
}
