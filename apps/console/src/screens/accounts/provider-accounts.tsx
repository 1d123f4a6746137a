import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { SureCall } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Badge, Copyable, Facts, Time } from '../../ui/shown.js';
import { faultAt, withScope } from '../../ui/states.js';
import { listOf } from '../../ui/typed-list.js';
import { useChange } from '../../ui/use-change.js';
import { AccountForm, AccountList, type GivenAccount } from './account-list.js';
import { PROVIDERS } from './providers.js';
import { TestConnection } from './test-connection.js';

type Account = Schema<'AccountView'>;

type Provider = (typeof PROVIDERS)[number];

/** Accounts at payment providers: who may take money for the merchant. */
export const ProviderAccounts = withScope('clients:read', Accounts);

function Accounts(): ReactElement {
  const { can } = useSession();
  const query = useGet(['provider-accounts'], '/v1/provider-accounts');
  return (
    <AccountList
      query={query}
      mayAdd={can('clients:admin')}
      tile={(account) => <AccountTile key={account.id} account={account} />}
      form={(onDone) => <ProviderForm account={null} onDone={onDone} />}
    />
  );
}

function AccountTile({ account }: { account: Account }): ReactElement {
  const { providerAccounts: words } = useWords();
  const { can } = useSession();
  const [open, setOpen] = useState<'change' | 'test' | 'disable' | null>(null);
  const close = (): void => setOpen(null);
  const isDisabled = account.disabled_at !== null;
  return (
    <li className="tile">
      <div className="tile-head">
        <strong className="wrap">
          {account.provider} · {account.name}
        </strong>
        <HealthBadge account={account} />
      </div>
      <Facts
        rows={[
          ...Object.entries(account.settings).map(([name, value]) => [name, value] as const),
          [words.secrets, account.secrets.join(', ')],
          [words.callback, <Copyable text={account.callback_url} />],
          [words.disabled, account.disabled_at && <Time at={account.disabled_at} />],
          [words.downSince, isDown(account) && <Time at={account.health.since} />],
          [words.lastFailure, isDown(account) && account.health.detail],
        ]}
      />
      {can('clients:admin') && !isDisabled && (
        <div className="row-actions">
          <Button onClick={() => setOpen('change')}>{words.change}</Button>
          <Button onClick={() => setOpen('test')}>{words.connection.test}</Button>
          <Button onClick={() => setOpen('disable')}>{words.disable}</Button>
        </div>
      )}
      <Dialog title={words.change} open={open === 'change'} onClose={close}>
        <ProviderForm account={account} onDone={close} />
      </Dialog>
      <Dialog title={words.connection.test} open={open === 'test'} onClose={close}>
        <TestConnection id={account.id} />
      </Dialog>
      <Dialog title={words.disable} open={open === 'disable'} onClose={close}>
        <Disable id={account.id} onDone={close} />
      </Dialog>
    </li>
  );
}

function isDown({ disabled_at: disabledAt, health }: Account): boolean {
  return disabledAt === null && health.status === 'down';
}

function HealthBadge({ account }: { account: Account }): ReactElement {
  const { providerAccounts: words } = useWords();
  if (account.disabled_at !== null) return <Badge tone="neutral">{words.disabled}</Badge>;
  return isDown(account) ? <Badge tone="bad">{words.down}</Badge> : <Badge tone="good">{words.active}</Badge>;
}

function ProviderForm({ account, onDone }: { account: Account | null; onDone: () => void }): ReactElement {
  const { providerAccounts: words } = useWords();
  const [shown] = useState(account?.sources.join(', ') ?? '');
  const [sources, setSources] = useState(shown);
  const save = useChange(
    ({ provider, ...given }: GivenAccount<Provider>) => {
      const body = { ...given, ...((account === null || sources !== shown) && { sources: listOf(sources) }) };
      return account === null
        ? api('post', '/v1/provider-accounts', { body: { provider, ...body } })
        : api('patch', '/v1/provider-accounts/{id}', { path: { id: account.id }, body });
    },
    { refreshes: [['provider-accounts']], onDone },
  );
  return (
    <AccountForm
      providers={PROVIDERS}
      account={account && { ...account, provider: PROVIDERS.find((one) => one === account.provider) ?? 'payme' }}
      save={save}
      onSave={(given) => save.mutate(given)}
    >
      <TextField label={words.sources} value={sources} error={faultAt(save.error, '/sources')} onValue={setSources} />
    </AccountForm>
  );
}

function Disable({ id, onDone }: { id: string; onDone: () => void }): ReactElement {
  const { providerAccounts: words } = useWords();
  const disable = useChange(() => api('delete', '/v1/provider-accounts/{id}', { path: { id } }), {
    refreshes: [['provider-accounts']],
    onDone,
  });
  return (
    <SureCall call={disable} label={words.disable} tone="danger" onBack={onDone}>
      <p>{words.disableText}</p>
    </SureCall>
  );
}
