import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactElement } from 'react';
import { sendBare } from '../api/call.js';
import { ApiProblem } from '../api/problem.js';
import { LanguageSwitch } from '../app/preferences.js';
import { useWords } from '../i18n/i18n.js';
import { Button } from '../ui/button.js';
import { draftFields } from '../ui/draft-fields.js';
import { TextField } from '../ui/field.js';
import { Empty, faultAt, Loading, ProblemNote } from '../ui/states.js';
import { useTyped } from '../ui/use-typed.js';
import { AuthenticatorSecret } from './authenticator-secret.js';
import { CodeField } from './code-field.js';
import { LoginForm } from './login-form.js';
import type { Me } from './session-context.js';
import { beginAnew, goToProvider, makePasskey, readMe, takeTab } from './sign-in.js';

interface Invitation {
  kind: 'invitation' | 'recovery';
  email: string;
  merchant: { id: string; name: string } | null;
  roles: string[];
  account_exists: boolean;
  totp: { secret: string; otpauth_url: string };
  passkey_options: PublicKeyCredentialCreationOptionsJSON;
  oidc: boolean;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  return (await (await sendBare({ method: 'POST', path, body })).json()) as T;
}

/** The token stands behind the `#`: no log and no other page ever gets it. */
export function InvitationPage(): ReactElement {
  const { invitation } = useWords();
  const [token] = useState(() => location.hash.slice(1));
  const query = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => post<Invitation>('/auth/invitation', { token }),
    enabled: token !== '',
    retry: false,
    staleTime: Infinity,
  });
  const isInvalid = token === '' || (query.error instanceof ApiProblem && query.error.status === 404);
  return (
    <main className="alone">
      <div className="alone-card">
        <div className="alone-head">
          <h1>{invitation.title}</h1>
          <LanguageSwitch />
        </div>
        {isInvalid ? (
          <Empty>{invitation.invalid}</Empty>
        ) : query.data ? (
          <Choice token={token} given={query.data} />
        ) : query.error ? (
          <ProblemNote problem={query.error} />
        ) : (
          <Loading />
        )}
      </div>
    </main>
  );
}

function enter(): void {
  void beginAnew();
}

function Choice({ token, given }: { token: string; given: Invitation }): ReactElement {
  return given.account_exists ? <Join token={token} /> : <Accept token={token} given={given} />;
}

/** The account that is there already takes the invitation: who is not logged in does so first, on this page. */
function Join({ token }: { token: string }): ReactElement {
  const { invitation } = useWords();
  const me = useQuery({ queryKey: ['me'], queryFn: readMe, retry: 1 });
  const client = useQueryClient();
  const join = useMutation({ mutationFn: () => post('/v1/me/invitations', { token }), onSuccess: enter });
  const loggedIn = (now: Me): void => {
    takeTab(now);
    client.setQueryData(['me'], now);
  };
  if (me.isPending) return <Loading />;
  if (!me.data) {
    return (
      <div className="stack">
        <p>{invitation.loginFirst}</p>
        <ProblemNote problem={me.error} />
        <LoginForm onDone={loggedIn} />
      </div>
    );
  }
  return (
    <div className="stack">
      <p className="hint">{me.data.user?.email}</p>
      <ProblemNote problem={join.error} />
      <Button tone="primary" onClick={() => join.mutate()} busy={join.isPending}>
        {invitation.join}
      </Button>
    </div>
  );
}

function ByProvider({ token }: { token: string }): ReactElement {
  const { stepUp } = useWords();
  const go = useMutation({ mutationFn: () => goToProvider({ invitation: token, return_to: '/console' }) });
  return (
    <>
      <Button onClick={() => go.mutate()} busy={go.isPending}>
        {stepUp.oidc}
      </Button>
      <ProblemNote problem={go.error} />
    </>
  );
}

function Accept({ token, given }: { token: string; given: Invitation }): ReactElement {
  const words = useWords();
  const [typed, type] = useTyped({ name: '', password: '', code: '' });
  const byPassword = useMutation({
    mutationFn: () => post('/auth/invitation/accept', { token, ...typed }),
    onSuccess: enter,
  });
  const byPasskey = useMutation({
    mutationFn: async () => {
      const credential = await makePasskey(given.passkey_options);
      return post('/auth/invitation/accept', { token, name: typed.name, credential });
    },
    onSuccess: enter,
  });
  const problem = byPassword.error ?? byPasskey.error;
  const field = draftFields(typed, type, null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    byPassword.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      {given.kind === 'recovery' && <p>{words.invitation.recovery}</p>}
      <p>
        {given.merchant && words.invitation.for(given.merchant.name)} <span className="hint">{given.email}</span>
      </p>
      <TextField label={words.invitation.name} autoComplete="name" required maxLength={128} {...field('name')} />
      <TextField
        label={words.invitation.password}
        type="password"
        autoComplete="new-password"
        minLength={12}
        maxLength={256}
        required
        {...field('password')}
        error={faultAt(problem, '/password')}
      />
      <AuthenticatorSecret totp={given.totp} />
      <CodeField {...field('code')} />
      <ProblemNote problem={problem} />
      <Button type="submit" tone="primary" busy={byPassword.isPending}>
        {words.invitation.accept}
      </Button>
      <Button onClick={() => byPasskey.mutate()} disabled={typed.name.trim() === ''} busy={byPasskey.isPending}>
        {words.invitation.acceptPasskey}
      </Button>
      {given.oidc && <ByProvider token={token} />}
    </form>
  );
}
