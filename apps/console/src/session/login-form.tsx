import { useMutation, useQuery } from '@tanstack/react-query';
import type { FormEvent, ReactElement } from 'react';
import { ApiProblem } from '../api/problem.js';
import { useWords, type Words } from '../i18n/i18n.js';
import { Button } from '../ui/button.js';
import { draftFields } from '../ui/draft-fields.js';
import { TextField } from '../ui/field.js';
import { Loaded, ProblemNote } from '../ui/states.js';
import { useTyped } from '../ui/use-typed.js';
import { CodeField } from './code-field.js';
import type { Me } from './session-context.js';
import { goToProvider, loginByPasskey, loginByPassword, loginMethods, type LoginMethods } from './sign-in.js';

interface Props {
  onDone: (me: Me) => void;
  /** Where the company's login comes back to. */
  returnTo?: string;
}

export function LoginForm(props: Props): ReactElement {
  const methods = useQuery({ queryKey: ['login-methods'], queryFn: loginMethods, retry: 1 });
  return <Loaded query={methods}>{(known) => <Ways {...props} methods={known} />}</Loaded>;
}

function Ways({ onDone, returnTo, methods }: Props & { methods: LoginMethods }): ReactElement {
  const words = useWords();
  const passkey = useMutation({ mutationFn: loginByPasskey, onSuccess: onDone });
  const oidc = useMutation({ mutationFn: () => goToProvider(returnTo === undefined ? {} : { return_to: returnTo }) });
  const { embedded, passkeys, oidc: provider } = methods;
  if (!embedded && provider === null) return <p>{words.login.none}</p>;
  return (
    <div className="stack">
      {embedded && <PasswordForm onDone={onDone} />}
      {(passkeys || provider !== null) && embedded && <p className="or">{words.login.or}</p>}
      {passkeys && (
        <Button onClick={() => passkey.mutate()} busy={passkey.isPending}>
          {words.login.passkey}
        </Button>
      )}
      {provider !== null && (
        <Button onClick={() => oidc.mutate()} busy={oidc.isPending}>
          {words.login.oidc(provider.name)}
        </Button>
      )}
      <LoginProblem problem={passkey.error ?? oidc.error} />
    </div>
  );
}

function PasswordForm({ onDone }: Pick<Props, 'onDone'>): ReactElement {
  const { login } = useWords();
  const [given, type] = useTyped({ email: '', password: '', code: '' });
  const enter = useMutation({ mutationFn: () => loginByPassword(given), onSuccess: onDone });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    enter.mutate();
  };
  // Which part was wrong is never said: no field shows a fault of its own.
  const field = draftFields(given, type, null);
  return (
    <form className="stack" onSubmit={submit}>
      <TextField label={login.email} type="email" autoComplete="username" required {...field('email')} />
      <TextField
        label={login.password}
        type="password"
        autoComplete="current-password"
        required
        {...field('password')}
      />
      <CodeField {...field('code')} />
      <LoginProblem problem={enter.error} />
      <Button type="submit" tone="primary" busy={enter.isPending}>
        {login.submit}
      </Button>
    </form>
  );
}

/** What a refused login says is one sentence: which part was wrong is no business of a stranger. */
export function LoginProblem({ problem }: { problem: unknown }): ReactElement | null {
  const words = useWords();
  if (problem === null || problem === undefined) return null;
  const text = problem instanceof ApiProblem ? loginText(problem.code, words) : null;
  if (text === null) return <ProblemNote problem={problem} />;
  return (
    <p className="problem" role="alert">
      {text}
    </p>
  );
}

function loginText(code: string, { login }: Words): string | null {
  switch (code) {
    case 'login_failed':
    case 'passkey':
      return login.failed;
    case 'login_refused':
      return login.refused;
    case 'no_membership':
      return login.noMembership;
    case 'login_needs_https':
      return login.insecure;
    default:
      return null;
  }
}
