import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { Badge, Copyable, Facts, Time } from '../../ui/shown.js';
import { Empty, Loaded, ProblemNote } from '../../ui/states.js';
import { AllowList } from './allow-list.js';
import { ClientKeys } from './client-keys.js';
import { ShownSecret } from '../webhooks/shown-secret.js';

type Client = Schema<'ClientView'>;
type Open = 'switch' | 'secret' | 'list' | 'keys';

export function Clients(): ReactElement {
  const query = useQuery({
    queryKey: ['clients'],
    queryFn: ({ signal }) => api('get', '/v1/clients', { signal, query: { disabled: true, limit: 100 } }),
  });
  return (
    <Loaded query={query}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty />
        ) : (
          <ul className="tiles tiles-wide">
            {data.map((client) => (
              <ClientTile key={client.id} client={client} />
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

function ClientTile({ client }: { client: Client }): ReactElement {
  const { clients } = useWords();
  const { can } = useSession();
  const [open, setOpen] = useState<Open | null>(null);
  const isDisabled = client.disabled_at !== null;
  const close = (): void => setOpen(null);
  const titles: Record<Open, string> = {
    switch: isDisabled ? clients.enable : clients.disable,
    secret: clients.newSecret,
    list: clients.list,
    keys: clients.keys,
  };
  return (
    <li className="tile">
      <div className="tile-head">
        <strong className="wrap">{client.name}</strong>
        <Badge tone={isDisabled ? 'neutral' : 'good'}>{isDisabled ? clients.disabled : clients.active}</Badge>
      </div>
      <Facts
        rows={[
          ['ID', <Copyable text={client.id} />],
          [clients.scopes, client.scopes.join(', ')],
          [clients.addresses, client.ip_policy === 'any' ? clients.anyAddress : client.allowed_cidrs.join(', ')],
          [clients.at, <Time at={client.created_at} />],
        ]}
      />
      {can('clients:admin') && (
        <div className="row-actions">
          <Button onClick={() => setOpen('switch')}>{isDisabled ? clients.enable : clients.disable}</Button>
          {!isDisabled && <Button onClick={() => setOpen('secret')}>{clients.newSecret}</Button>}
          <Button onClick={() => setOpen('list')}>{clients.list}</Button>
          <Button onClick={() => setOpen('keys')}>{clients.keys}</Button>
        </div>
      )}
      <Dialog title={open === null ? '' : titles[open]} open={open !== null} onClose={close}>
        {open === 'switch' && <Switch client={client} onDone={close} />}
        {open === 'secret' && <NewSecret id={client.id} onDone={close} />}
        {open === 'list' && <AllowList client={client} onDone={close} />}
        {open === 'keys' && <ClientKeys id={client.id} />}
      </Dialog>
    </li>
  );
}

function Switch({
  client: { id, name, disabled_at: at },
  onDone,
}: {
  client: Client;
  onDone: () => void;
}): ReactElement {
  const { clients, action } = useWords();
  const queries = useQueryClient();
  const call = useMutation({
    mutationFn: () =>
      at === null
        ? api('post', '/v1/clients/{id}/disable', { path: { id } })
        : api('post', '/v1/clients/{id}/enable', { path: { id } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['clients'] });
      onDone();
    },
  });
  return (
    <div className="stack">
      <p className="wrap">{name}</p>
      <ProblemNote problem={call.error} />
      <div className="row-actions">
        <Button tone="danger" onClick={() => call.mutate()} busy={call.isPending}>
          {at === null ? clients.disable : clients.enable}
        </Button>
        <Button onClick={onDone}>{action.back}</Button>
      </div>
    </div>
  );
}

function NewSecret({ id, onDone }: { id: string; onDone: () => void }): ReactElement {
  const { clients } = useWords();
  const call = useMutation({ mutationFn: () => api('post', '/v1/clients/{id}/secret', { path: { id }, body: {} }) });
  if (call.data) return <ShownSecret secret={call.data.client_secret} onDone={onDone} />;
  return (
    <div className="stack">
      <p>{clients.newSecretText}</p>
      <ProblemNote problem={call.error} />
      <Button tone="danger" onClick={() => call.mutate()} busy={call.isPending}>
        {clients.newSecret}
      </Button>
    </div>
  );
}
