import { useMutation } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api, type Schema } from '../api/api.js';
import { sendForJson } from '../api/call.js';
import { useGet } from '../api/use-get.js';
import { useWords } from '../i18n/i18n.js';
import { Button } from '../ui/button.js';
import { CallForm } from '../ui/call-form.js';
import { DialogButton } from '../ui/dialog-button.js';
import { draftFields } from '../ui/draft-fields.js';
import { TextField } from '../ui/field.js';
import { Badge, Card, Facts, Time } from '../ui/shown.js';
import { Loaded, ProblemNote } from '../ui/states.js';
import { useChange } from '../ui/use-change.js';
import { useTyped } from '../ui/use-typed.js';
import { AuthenticatorSecret } from './authenticator-secret.js';
import { CodeField } from './code-field.js';
import { useSession } from './session-context.js';
import { makePasskey } from './sign-in.js';

const CHANGED = [['me'], ['passkeys']];

/** Password, authenticator app and passkeys; each change needs the second factor that is there now. */
export function Factors(): ReactElement {
  const { account } = useWords();
  const { me } = useSession();
  const { password = false, totp = false } = me.factors ?? {};
  const shown = (isSet: boolean): ReactElement => (
    <Badge tone={isSet ? 'good' : 'neutral'}>{isSet ? account.set : account.notSet}</Badge>
  );
  return (
    <Card title={account.factors}>
      <Facts
        rows={[
          [account.password, shown(password)],
          [account.totp, shown(totp)],
        ]}
      />
      <div className="row-actions">
        {password && (
          <DialogButton label={account.changePassword}>{(close) => <NewPassword onDone={close} />}</DialogButton>
        )}
        {totp && <DialogButton label={account.changeTotp}>{(close) => <NewApp onDone={close} />}</DialogButton>}
        {(password || (me.factors?.passkeys ?? 0) > 0) && (
          <DialogButton label={account.addPasskey}>{(close) => <NewPasskey onDone={close} />}</DialogButton>
        )}
      </div>
      <Passkeys />
    </Card>
  );
}

function Passkeys(): ReactElement {
  const { account } = useWords();
  const query = useGet(['passkeys'], '/v1/me/passkeys');
  const remove = useChange((id: string) => api('delete', '/v1/me/passkeys/{id}', { path: { id } }), {
    refreshes: CHANGED,
  });
  return (
    <Loaded query={query}>
      {({ data }) => (
        <>
          <h3>{account.passkeys}</h3>
          {data.length === 0 && <p className="hint">{account.notSet}</p>}
          <ul className="plain-list">
            {data.map(({ id, name, last_used_at: used }) => (
              <li key={id} className="line-item">
                <span className="wrap">
                  <strong>{name}</strong>
                  <small className="hint block">
                    {account.lastUsed}: {used === null ? account.never : <Time at={used} />}
                  </small>
                </span>
                <Button onClick={() => remove.mutate(id)} disabled={remove.isPending}>
                  {account.removePasskey}
                </Button>
              </li>
            ))}
          </ul>
          <ProblemNote problem={remove.error} />
        </>
      )}
    </Loaded>
  );
}

interface PartProps {
  onDone: () => void;
}

function NewPassword({ onDone }: PartProps): ReactElement {
  const { account, action } = useWords();
  const [typed, type] = useTyped({ current: '', new: '' });
  const change = useMutation({
    mutationFn: () => api('post', '/v1/me/password', { body: typed }),
    onSuccess: onDone,
  });
  const field = draftFields(typed, type, change.error);
  return (
    <CallForm call={change} onSubmit={() => change.mutate()} label={action.save}>
      <TextField
        label={account.currentPassword}
        type="password"
        autoComplete="current-password"
        required
        {...field('current')}
      />
      <TextField
        label={account.newPassword}
        type="password"
        autoComplete="new-password"
        minLength={12}
        maxLength={256}
        required
        {...field('new')}
      />
    </CallForm>
  );
}

/** The new app counts from its first code on; the one until now does so until then. */
function NewApp({ onDone }: PartProps): ReactElement {
  const { account, action } = useWords();
  const [typed, type] = useTyped({ code: '' });
  const begin = useMutation({ mutationFn: () => api('post', '/v1/me/totp/begin') });
  const confirm = useChange(() => api('post', '/v1/me/totp', { body: typed }), { refreshes: CHANGED, onDone });
  if (!begin.data) {
    return (
      <div className="stack">
        <ProblemNote problem={begin.error} />
        <Button tone="primary" onClick={() => begin.mutate()} busy={begin.isPending}>
          {account.changeTotp}
        </Button>
      </div>
    );
  }
  const field = draftFields(typed, type, confirm.error);
  return (
    <CallForm call={confirm} onSubmit={() => confirm.mutate()} label={action.confirm}>
      <AuthenticatorSecret totp={begin.data} />
      <CodeField {...field('code')} />
    </CallForm>
  );
}

function NewPasskey({ onDone }: PartProps): ReactElement {
  const { account } = useWords();
  const [typed, type] = useTyped({ name: '' });
  const add = useChange(
    async () => {
      const { options } = await sendForJson<{ options: PublicKeyCredentialCreationOptionsJSON }>({
        method: 'POST',
        path: '/v1/me/passkeys/options',
        body: {},
      });
      const credential = await makePasskey(options);
      // The description knows a credential as an object only: browsers and authenticators say what is in it.
      const body = { ...typed, credential } as unknown as Schema<'NewPasskeyBody'>;
      return api('post', '/v1/me/passkeys', { body });
    },
    { refreshes: CHANGED, onDone },
  );
  const field = draftFields(typed, type, add.error);
  return (
    <CallForm call={add} onSubmit={() => add.mutate()} label={account.addPasskey}>
      <TextField label={account.passkeyName} required maxLength={64} {...field('name')} />
    </CallForm>
  );
}
