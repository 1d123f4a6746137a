import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { SelectField, TextArea, TextField } from '../../ui/field.js';
import { Badge, Time } from '../../ui/shown.js';
import { Empty, faultAt, Loaded, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';

const USES = ['signing', 'authentication'] as const;

/** Public keys by which a client signs its requests, or logs in. */
export function ClientKeys({ id }: { id: string }): ReactElement {
  const { clients } = useWords();
  const query = useQuery({
    queryKey: ['client-keys', id],
    queryFn: ({ signal }) => api('get', '/v1/clients/{id}/keys', { signal, path: { id } }),
  });
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
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [use, setUse] = useState<(typeof USES)[number]>('signing');
  const [pem, setPem] = useState('');
  const add = useMutation({
    mutationFn: () =>
      api('post', '/v1/clients/{id}/keys', { path: { id }, body: { name, use, public_key: pem.trim() } }),
    onSuccess: async () => {
      setName('');
      setPem('');
      await queries.invalidateQueries({ queryKey: ['client-keys', id] });
    },
  });
  return (
    <CallForm call={add} onSubmit={() => add.mutate()} label={clients.addKey}>
      <TextField
        label={clients.keyName}
        required
        maxLength={128}
        value={name}
        error={faultAt(add.error, '/name')}
        onValue={setName}
      />
      <SelectField
        label={clients.action}
        value={use}
        options={USES.map((value) => ({ value, label: clients.keyUse[value] }))}
        onValue={(next) => setUse(USES.find((known) => known === next) ?? 'signing')}
      />
      <TextArea
        label={clients.publicKey}
        rows={5}
        required
        value={pem}
        error={faultAt(add.error, '/public_key')}
        onValue={setPem}
      />
    </CallForm>
  );
}
