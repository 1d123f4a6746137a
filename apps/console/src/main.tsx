import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useCallback, useEffect, useState, type ReactElement } from 'react';
import { createRoot } from 'react-dom/client';
import { callState, watchActivity } from './api/call.js';
import { ApiProblem } from './api/problem.js';
import { applyTheme, preferredTheme } from './app/preferences.js';
import { router } from './app/router.js';
import { keepLanguage, LanguageProvider, loadWords, preferredLanguage, type Words } from './i18n/i18n.js';
import type { Language } from './i18n/plural.js';
import './styles/base.css';
import './styles/parts.css';
import './styles/screens.css';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // What the gateway refused stays refused; what it could not do may work in a moment.
      retry: (failures, error) => failures < 2 && error instanceof ApiProblem && error.more.retryable === true,
    },
    mutations: { retry: false },
  },
});

interface Spoken {
  language: Language;
  words: Words;
}

function Console({ first }: { first: Spoken }): ReactElement {
  const [spoken, setSpoken] = useState(first);
  const speak = useCallback((language: Language) => {
    void loadWords(language).then((words) => {
      keepLanguage(language);
      setSpoken({ language, words });
      // Sentences of the gateway come in the language that was asked for.
      callState.language = language;
      void queries.invalidateQueries();
    });
  }, []);
  useEffect(() => {
    document.documentElement.lang = spoken.language === 'uz' ? 'uz-Latn' : spoken.language;
    document.title = spoken.words.product;
  }, [spoken]);
  return (
    <LanguageProvider value={{ ...spoken, speak }}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </LanguageProvider>
  );
}

async function start(): Promise<void> {
  applyTheme(preferredTheme());
  watchActivity();
  const language = preferredLanguage();
  callState.language = language;
  const words = await loadWords(language);
  const place = document.getElementById('console');
  if (!place) throw new Error('the page has no place for the console');
  createRoot(place).render(
    <StrictMode>
      <Console first={{ language, words }} />
    </StrictMode>,
  );
}

void start();
