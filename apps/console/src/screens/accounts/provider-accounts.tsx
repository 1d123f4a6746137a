import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField, TextArea, TextField } from '../../ui/field.js';
import { Badge, Copyable, Facts, Time } from '../../ui/shown.js';
import { Empty, faultAt, Loaded, NeedsScope, ProblemNote } from '../../ui/states.js';
import { readSettings, writeSettings } from './settings-text.js';

type Account = Schema<'AccountView'>;

const PROVIDERS = ['payme', 'click', 'uzum', 'multicard', 'octo', 'atmos', 'paynet', 'stripe'] as const;

/** Accounts at payment providers: who may take money for the merchant. */
export function ProviderAccounts(): ReactElement {
  const { providerAccounts: words } = useWords();
  const { can } = useSession();
  const [isAdding, setAdding] = useState(false);
  const query = useQuery({ queryKey: ['provider-accounts'], queryFn: () => api('get', '/v1/provider-accounts') });
  return (
    <NeedsScope scope="clients:read">
      {can('clients:admin') && (
        <div className="row-actions">
          <Button tone="primary" onClick={() => setAdding(true)}>
            {words.add}
          </Button>
        </div>
      )}
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{words.none}</Empty>
          ) : (
            <ul className="tiles tiles-wide">
              {data.map((account) => (
                <AccountTile key={account.id} account={account} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <Dialog title={words.add} open={isAdding} onClose={() => setAdding(false)}>
        <AccountForm account={null} onDone={() => setAdding(false)} />
      </Dialog>
    </NeedsScope>
  );
}

function AccountTile({ account }: { account: Account }): ReactElement {
  const { providerAccounts: words } = useWords();
  const { can } = useSession();
  const [open, setOpen] = useState<'change' | 'disable' | null>(null);
  const close = (): void => setOpen(null);
  const isDisabled = account.disabled_at !== null;
  return (
    <li className="tile">
      <div className="tile-head">
        <strong className="wrap">
          {account.provider} · {account.name}
        </strong>
        <Badge tone={isDisabled ? 'neutral' : 'good'}>{isDisabled ? words.disabled : words.active}</Badge>
      </div>
      <Facts
        rows={[
          ...Object.entries(account.settings).map(([name, value]) => [name, value] as const),
          [words.secrets, account.secrets.join(', ')],
          [words.callback, <Copyable text={account.callback_url} />],
          [words.disabled, account.disabled_at && <Time at={account.disabled_at} />],
        ]}
      />
      {can('clients:admin') && !isDisabled && (
        <div className="row-actions">
          <Button onClick={() => setOpen('change')}>{words.change}</Button>
          <Button onClick={() => setOpen('disable')}>{words.disable}</Button>
        </div>
      )}
      <Dialog title={words.change} open={open === 'change'} onClose={close}>
        <AccountForm account={account} onDone={close} />
      </Dialog>
      <Dialog title={words.disable} open={open === 'disable'} onClose={close}>
        <Disable id={account.id} onDone={close} />
      </Dialog>
    </li>
  );
}

function networksOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((network) => network !== '');
}

/** Nothing of it is kept as a draft: there are secrets in it. */
function AccountForm({ account, onDone }: { account: Account | null; onDone: () => void }): ReactElement {
  const { providerAccounts: words, action } = useWords();
  const client = useQueryClient();
  const [provider, setProvider] = useState(account?.provider ?? PROVIDERS[0]);
  const [name, setName] = useState(account?.name ?? '');
  const [text, setText] = useState(writeSettings(account?.settings ?? {}));
  const [sources, setSources] = useState(account?.sources.join(', ') ?? '');
  const read = readSettings(text);
  const save = useMutation({
    mutationFn: (settings: Record<string, string>) => {
      const body = { ...(name !== '' && { name }), settings, sources: networksOf(sources) };
      return account === null
        ? api('post', '/v1/provider-accounts', { body: { provider, ...body } })
        : api('patch', '/v1/provider-accounts/{id}', { path: { id: account.id }, body });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['provider-accounts'] });
      onDone();
    },
  });
  return (
    <CallForm
      call={save}
      onSubmit={() => {
        if (read.kind === 'ok') save.mutate(read.settings);
      }}
      label={action.save}
    >
      {account === null && (
        <SelectField
          label={words.provider}
          value={provider}
          options={PROVIDERS.map((value) => ({ value, label: value }))}
          error={faultAt(save.error, '/provider')}
          onValue={setProvider}
        />
      )}
      <TextField
        label={words.name}
        maxLength={128}
        value={name}
        error={faultAt(save.error, '/name')}
        onValue={setName}
      />
      <TextArea
        label={words.settings}
        rows={8}
        value={text}
        error={read.kind === 'wrong' ? words.badLine(read.line) : faultAt(save.error, '/settings')}
        onValue={setText}
      />
      <p className="hint">{words.settingsHint}</p>
      <TextField label={words.sources} value={sources} error={faultAt(save.error, '/sources')} onValue={setSources} />
    </CallForm>
  );
}

function Disable({ id, onDone }: { id: string; onDone: () => void }): ReactElement {
  const { providerAccounts: words, action } = useWords();
  const client = useQueryClient();
  const disable = useMutation({
    mutationFn: () => api('delete', '/v1/provider-accounts/{id}', { path: { id } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['provider-accounts'] });
      onDone();
    },
  });
  return (
    <div className="stack">
      <p>{words.disableText}</p>
      <ProblemNote problem={disable.error} />
      <div className="row-actions">
        <Button tone="danger" onClick={() => disable.mutate()} busy={disable.isPending}>
          {words.disable}
        </Button>
        <Button onClick={onDone}>{action.back}</Button>
      </div>
    </div>
  );
}
