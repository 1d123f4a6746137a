/** @typedef {{ label: string, lang: string, index: string, words: Record<string, string> }} Locale */

/** What the site's own buttons say. English is VitePress's own. @type {Record<string, Locale>} */
export const LOCALES = {
  ru: {
    label: 'Русский',
    lang: 'ru',
    index: 'docs/ru/index.md',
    words: {
      search: 'Поиск',
      noResults: 'Ничего не найдено',
      reset: 'Очистить',
      select: 'выбрать',
      navigate: 'перейти',
      close: 'закрыть',
      outline: 'На этой странице',
      previous: 'Назад',
      next: 'Далее',
      top: 'Наверх',
      menu: 'Меню',
      theme: 'Тема',
      language: 'Язык',
      outdated: 'Эта страница старше своего английского оригинала.',
    },
  },
  uz: {
    label: 'O‘zbekcha',
    lang: 'uz',
    index: 'docs/uz/index.md',
    words: {
      search: 'Qidirish',
      noResults: 'Hech narsa topilmadi',
      reset: 'Tozalash',
      select: 'tanlash',
      navigate: 'o‘tish',
      close: 'yopish',
      outline: 'Shu sahifada',
      previous: 'Oldingi',
      next: 'Keyingi',
      top: 'Yuqoriga',
      menu: 'Menyu',
      theme: 'Mavzu',
      language: 'Til',
      outdated: 'Bu sahifa inglizcha aslidan eskiroq.',
    },
  },
};

/**
 * @param {(index: string) => object} sidebarOf
 * @returns {object} the part of VitePress's settings that depends on the language
 */
export function localisedConfig(sidebarOf) {
  const all = Object.entries(LOCALES);
  return {
    locales: {
      root: { label: 'English', lang: 'en', themeConfig: { sidebar: sidebarOf('docs/index.md') } },
      ...Object.fromEntries(all.map(([name, locale]) => [name, localeConfig(locale, sidebarOf)])),
    },
    themeConfig: {
      // Not every page is translated: the other language begins at its own index.
      i18nRouting: false,
      outline: [2, 3],
      search: {
        provider: 'local',
        options: { locales: Object.fromEntries(all.map(([name, { words }]) => [name, searchWords(words)])) },
      },
    },
  };
}

/**
 * @param {Locale} locale
 * @param {(index: string) => object} sidebarOf
 */
function localeConfig({ label, lang, index, words }, sidebarOf) {
  return {
    label,
    lang,
    themeConfig: {
      sidebar: sidebarOf(index),
      outline: { level: [2, 3], label: words['outline'] },
      docFooter: { prev: words['previous'], next: words['next'] },
      returnToTopLabel: words['top'],
      sidebarMenuLabel: words['menu'],
      darkModeSwitchLabel: words['theme'],
      langMenuLabel: words['language'],
    },
  };
}

/** @param {Record<string, string>} words */
function searchWords({ search, noResults, reset, select, navigate, close }) {
  return {
    translations: {
      button: { buttonText: search, buttonAriaLabel: search },
      modal: {
        noResultsText: noResults,
        resetButtonTitle: reset,
        footer: { selectText: select, navigateText: navigate, closeText: close },
      },
    },
  };
}
