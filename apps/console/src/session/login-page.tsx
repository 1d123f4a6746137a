import { useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { LanguageSwitch } from '../app/preferences.js';
import { ApiProblem } from '../api/problem.js';
import { useWords } from '../i18n/i18n.js';
import { LoginForm, LoginProblem } from './login-form.js';
import { readMe } from './sign-in.js';

/** A path of the console, and nothing else: a link cannot lead away after the login. */
export function safeReturn(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])/.test(path) && !path.startsWith('/login') ? path : '/';
}

export function LoginPage(): ReactElement {
  const words = useWords();
  const { return_to: wanted, error } = useSearch({ from: '/login' });
  const router = useRouter();
  const client = useQueryClient();
  const back = safeReturn(wanted);
  const enter = async (): Promise<void> => {
    client.setQueryData(['me'], await readMe());
    router.history.replace(`/console${back}`);
  };
  return (
    <main className="alone">
      <div className="alone-card">
        <div className="alone-head">
          <h1>{words.login.title}</h1>
          <LanguageSwitch />
        </div>
        <p className="hint">{words.product}</p>
        {error !== undefined && <LoginProblem problem={new ApiProblem(401, error, '')} />}
        <LoginForm onDone={() => void enter()} returnTo={`/console${back}`} />
      </div>
    </main>
  );
}
