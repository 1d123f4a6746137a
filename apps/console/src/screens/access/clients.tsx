import { useMutation } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { Dialog } from '../../ui/dialog.js';
import { Badge, Copyable, Facts, Time } from '../../ui/shown.js';
import { CallForm, SureCall } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { useChange } from '../../ui/use-change.js';
import { useTyped } from '../../ui/use-typed.js';
import { AllowList } from './allow-list.js';
import { ChangeClient, NewClient } from './client-form.js';
import { ClientKeys } from './client-keys.js';
import { ShownSecret } from '../webhooks/shown-secret.js';

type Client = Schema<'ClientView'>;
type Open = 'change' | 'switch' | 'secret' | 'list' | 'keys';

export function Clients(): ReactElement {
  const { clients } = useWords();
  const { can } = useSession();
  const { list, rows: known } = usePages(['clients'], ({ cursor, signal }) =>
    api('get', '/v1/clients', { signal, query: { disabled: true, limit: 50, cursor } }),
  );
  return (
    <>
      {can('clients:admin') && (
        <div className="row-actions">
          <DialogButton label={clients.add} tone="primary">
            {(close) => <NewClient onDone={close} />}
          </DialogButton>
        </div>
      )}
      <Pages list={list}>
        <ul className="tiles tiles-wide">
          {known.map((client) => (
            <ClientTile key={client.id} client={client} />
          ))}
        </ul>
      </Pages>
    </>
  );
}

function ClientTile({ client }: { client: Client }): ReactElement {
  const { clients } = useWords();
  const { can } = useSession();
  const [open, setOpen] = useState<Open | null>(null);
  const isDisabled = client.disabled_at !== null;
  const close = (): void => setOpen(null);
  const titles: Record<Open, string> = {
    change: clients.change,
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
          [clients.signing, clients.signings[client.signing_policy]],
          [clients.at, <Time at={client.created_at} />],
        ]}
      />
      {can('clients:admin') && (
        <div className="row-actions">
          <Button onClick={() => setOpen('change')}>{clients.change}</Button>
          <Button onClick={() => setOpen('switch')}>{isDisabled ? clients.enable : clients.disable}</Button>
          {!isDisabled && <Button onClick={() => setOpen('secret')}>{clients.newSecret}</Button>}
          <Button onClick={() => setOpen('list')}>{clients.list}</Button>
          <Button onClick={() => setOpen('keys')}>{clients.keys}</Button>
        </div>
      )}
      <Dialog title={open === null ? '' : titles[open]} open={open !== null} onClose={close}>
        {open === 'change' && <ChangeClient client={client} onDone={close} />}
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
  const { clients } = useWords();
  const call = useChange(
    () =>
      at === null
        ? api('post', '/v1/clients/{id}/disable', { path: { id } })
        : api('post', '/v1/clients/{id}/enable', { path: { id } }),
    { refreshes: [['clients']], onDone },
  );
  return (
    <SureCall call={call} label={at === null ? clients.disable : clients.enable} tone="danger" onBack={onDone}>
      <p className="wrap">
        <strong>{name}</strong>
      </p>
      {at === null && <p>{clients.disableText}</p>}
    </SureCall>
  );
}

function NewSecret({ id, onDone }: { id: string; onDone: () => void }): ReactElement {
  const { clients } = useWords();
  const [typed, change] = useTyped({ hours: '24' });
  const call = useMutation({
    mutationFn: () =>
      api('post', '/v1/clients/{id}/secret', { path: { id }, body: { overlap_seconds: Number(typed.hours) * 3_600 } }),
  });
  if (call.data) return <ShownSecret secret={call.data.client_secret} onDone={onDone} />;
  const field = draftFields(typed, change, call.error);
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={clients.newSecret} tone="danger">
      <p>{clients.newSecretText}</p>
      <TextField
        label={clients.overlap}
        type="number"
        min={0}
        max={720}
        required
        {...field('hours', '/overlap_seconds')}
      />
    </CallForm>
  );
}
