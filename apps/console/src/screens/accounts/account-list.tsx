import type { UseQueryResult } from '@tanstack/react-query';
import { useState, type ReactElement, type ReactNode } from 'react';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { SelectField, TextArea, TextField } from '../../ui/field.js';
import { Empty, faultAt, Loaded } from '../../ui/states.js';
import { readSettings, writeSettings } from './settings-text.js';

interface ListProps<Account> {
  query: UseQueryResult<{ data: Account[] }>;
  mayAdd: boolean;
  tile: (account: Account) => ReactNode;
  /** The form of a new one. */
  form: (onDone: () => void) => ReactNode;
}

/** Accounts elsewhere, for payments or for messages. */
export function AccountList<Account>({ query, mayAdd, tile, form }: ListProps<Account>): ReactElement {
  const { providerAccounts: words } = useWords();
  return (
    <>
      {mayAdd && (
        <div className="row-actions">
          <DialogButton label={words.add} tone="primary">
            {form}
          </DialogButton>
        </div>
      )}
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? <Empty>{words.none}</Empty> : <ul className="tiles tiles-wide">{data.map(tile)}</ul>
        }
      </Loaded>
    </>
  );
}

export interface GivenAccount<Provider> {
  provider: Provider;
  name?: string;
  settings: Record<string, string>;
}

interface FormProps<Provider extends string> {
  providers: readonly [Provider, ...Provider[]];
  /** What is changed, of which only changes are given; null: a new one. */
  account: { provider: Provider; name: string; settings: Record<string, string> } | null;
  save: { error: unknown; isPending: boolean };
  onSave: (given: GivenAccount<Provider>) => void;
  /** Fields that only this kind of account has. */
  children: ReactNode;
}

/** Nothing of it is kept as a draft: there are secrets in it. */
export function AccountForm<Provider extends string>(props: FormProps<Provider>): ReactElement {
  const { providers, account, save, onSave, children } = props;
  const { providerAccounts: words, action } = useWords();
  // What is read meanwhile is not what the changes are beside.
  const [shown] = useState({ name: account?.name ?? '', settings: account?.settings ?? {} });
  const [provider, setProvider] = useState<Provider>(account?.provider ?? providers[0]);
  const [name, setName] = useState(shown.name);
  const [text, setText] = useState(writeSettings(shown.settings));
  const read = readSettings(text);
  const submit = (): void => {
    if (read.kind !== 'ok') return;
    const changed = Object.entries(read.settings).filter(([key, value]) => shown.settings[key] !== value);
    onSave({ provider, ...(name !== '' && name !== shown.name && { name }), settings: Object.fromEntries(changed) });
  };
  return (
    <CallForm call={save} onSubmit={submit} label={action.save}>
      {account === null && (
        <SelectField
          label={words.provider}
          value={provider}
          options={providers.map((value) => ({ value, label: value }))}
          error={faultAt(save.error, '/provider')}
          onValue={(next) => setProvider(providers.find((known) => known === next) ?? provider)}
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
      {children}
    </CallForm>
  );
}
