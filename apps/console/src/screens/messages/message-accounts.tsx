import { useMutation } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { Badge, Copyable, Facts, Time } from '../../ui/shown.js';
import { faultAt, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useTyped } from '../../ui/use-typed.js';
import { AccountForm, AccountList, type GivenAccount } from '../accounts/account-list.js';

type Account = Schema<'MessageAccountView'>;

const PROVIDERS = ['smtp', 'eskiz', 'playmobile', 'telegram'] as const;

/** Through whom messages go: one account for each channel. */
export function MessageAccounts(): ReactElement {
  const query = useGet(['message-accounts'], '/v1/message-accounts');
  return (
    <AccountList
      query={query}
      mayAdd
      tile={(account) => <AccountTile key={account.id} account={account} />}
      form={(onDone) => <MessageForm account={null} onDone={onDone} />}
    />
  );
}

function useSwitch(account: Account): { call: (what: 'enable' | 'disable' | 'remove') => void; problem: unknown } {
  const path = { id: account.id };
  const change = useChange(
    async (what: 'enable' | 'disable' | 'remove') => {
      if (what === 'remove') await api('delete', '/v1/message-accounts/{id}', { path });
      else await api('patch', '/v1/message-accounts/{id}', { path, body: { enabled: what === 'enable' } });
    },
    { refreshes: [['message-accounts']] },
  );
  return { call: change.mutate, problem: change.error };
}

function AccountTile({ account }: { account: Account }): ReactElement {
  const { providerAccounts: words, messages } = useWords();
  const { call, problem } = useSwitch(account);
  return (
    <li className="tile">
      <div className="tile-head">
        <strong className="wrap">
          {messages.channel[account.channel]} · {account.name}
        </strong>
        <Badge tone={account.enabled ? 'good' : 'neutral'}>{account.enabled ? words.active : words.disabled}</Badge>
      </div>
      {account.disabled_reason !== null && <p className="hint">{account.disabled_reason}</p>}
      <Facts
        rows={[
          [words.provider, account.provider],
          ...Object.entries(account.settings).map(([name, value]) => [name, value] as const),
          [words.secrets, account.secrets.join(', ')],
          [words.perMinute, String(account.per_minute)],
          [words.quiet, account.quiet_from && `${account.quiet_from} – ${account.quiet_until ?? ''}`],
          [words.callback, <Copyable text={account.callback_url} />],
          [words.failing, account.failing_since && <Time at={account.failing_since} />],
        ]}
      />
      <ProblemNote problem={problem} />
      <div className="row-actions">
        <DialogButton label={words.change}>{(close) => <MessageForm account={account} onDone={close} />}</DialogButton>
        <DialogButton label={words.test}>{() => <TestMessage id={account.id} />}</DialogButton>
        <Button onClick={() => call(account.enabled ? 'disable' : 'enable')}>
          {account.enabled ? words.disable : words.enable}
        </Button>
        {!account.enabled && <Button onClick={() => call('remove')}>{words.remove}</Button>}
      </div>
    </li>
  );
}

function MessageForm({ account, onDone }: { account: Account | null; onDone: () => void }): ReactElement {
  const { providerAccounts: words } = useWords();
  const [shown] = useState(String(account?.per_minute ?? 60));
  const [perMinute, setPerMinute] = useState(shown);
  const save = useChange(
    ({ provider, ...given }: GivenAccount<Account['provider']>) => {
      const body = { ...given, ...((account === null || perMinute !== shown) && { per_minute: Number(perMinute) }) };
      return account === null
        ? api('post', '/v1/message-accounts', { body: { provider, ...body } })
        : api('patch', '/v1/message-accounts/{id}', { path: { id: account.id }, body });
    },
    { refreshes: [['message-accounts']], onDone },
  );
  return (
    <AccountForm providers={PROVIDERS} account={account} save={save} onSave={(given) => save.mutate(given)}>
      <TextField
        label={words.perMinute}
        type="number"
        min={1}
        required
        value={perMinute}
        error={faultAt(save.error, '/per_minute')}
        onValue={setPerMinute}
      />
    </AccountForm>
  );
}

function TestMessage({ id }: { id: string }): ReactElement {
  const { providerAccounts: words, messages } = useWords();
  const [typed, change] = useTyped({ to: '', receipt: '' });
  const test = useMutation({
    mutationFn: () =>
      api('post', '/v1/message-accounts/{id}/test', {
        path: { id },
        body: { to: typed.to, receipt_id: typed.receipt.trim() },
      }),
  });
  const field = draftFields(typed, change, test.error);
  return (
    <CallForm call={test} onSubmit={() => test.mutate()} label={words.test}>
      <TextField label={words.testTo} required maxLength={254} {...field('to')} />
      <TextField label={words.testReceipt} placeholder="rcp_…" required {...field('receipt', '/receipt_id')} />
      {test.isSuccess && <p role="status">{messages.queued}</p>}
    </CallForm>
  );
}
