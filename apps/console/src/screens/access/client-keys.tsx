import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { SelectField, TextArea, TextField } from '../../ui/field.js';
import { Badge, Time } from '../../ui/shown.js';
import { Empty, Loaded, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useTyped } from '../../ui/use-typed.js';

const USES = ['signing', 'authentication'] as const;
const NO_KEY = { name: '', pem: '' };

/** Public keys by which a client signs its requests, or logs in. */
export function ClientKeys({ id }: { id: string }): ReactElement {
  const { clients } = useWords();
  const query = useGet(['client-keys', id], '/v1/clients/{id}/keys', { path: { id } });
  return (
    <div className="stack">
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{clients.noKeys}</Empty>
          ) : (
            <ul className="plain-list">
              {data.map((key) => (
                <OneKey key={key.id} id={id} of={key} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <NewKey id={id} />
    </div>
  );
}

function OneKey({ id, of }: { id: string; of: Schema<'ClientKeyView'> }): ReactElement {
  const { clients } = useWords();
  const end = useChange(() => api('delete', '/v1/clients/{id}/keys/{key}', { path: { id, key: of.id } }), {
    refreshes: [['client-keys', id]],
  });
  return (
    <li className="line-item">
      <span className="wrap">
        <strong>{of.name}</strong> {clients.keyUse[of.use]}
        <small className="hint block">
          {of.algorithm} · <Time at={of.created_at} />
        </small>
      </span>
      {of.disabled_at === null ? (
        <Button onClick={() => end.mutate()} busy={end.isPending}>
          {clients.endKey}
        </Button>
      ) : (
        <Badge tone="neutral">{clients.disabled}</Badge>
      )}
      <ProblemNote problem={end.error} />
    </li>
  );
}

function NewKey({ id }: { id: string }): ReactElement {
  const { clients } = useWords();
  const [typed, change] = useTyped(NO_KEY);
  const [use, setUse] = useState<(typeof USES)[number]>('signing');
  const body = { name: typed.name, use, public_key: typed.pem.trim() };
  const add = useChange(() => api('post', '/v1/clients/{id}/keys', { path: { id }, body }), {
    clear: () => change(NO_KEY),
    refreshes: [['client-keys', id]],
  });
  const field = draftFields(typed, change, add.error);
  return (
    <CallForm call={add} onSubmit={() => add.mutate()} label={clients.addKey}>
      <TextField label={clients.keyName} required maxLength={128} {...field('name')} />
      <SelectField
        label={clients.action}
        value={use}
        options={USES.map((value) => ({ value, label: clients.keyUse[value] }))}
        onValue={(next) => setUse(USES.find((known) => known === next) ?? 'signing')}
      />
      <TextArea label={clients.publicKey} rows={5} required {...field('pem', '/public_key')} />
    </CallForm>
  );
}
