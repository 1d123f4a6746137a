import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { CallForm } from '../../ui/call-form.js';
import { changedFields } from '../../ui/changed-fields.js';
import { draftFields } from '../../ui/draft-fields.js';
import { CheckField, ChoiceField, SelectField, TextArea, TextField } from '../../ui/field.js';
import { faultAt } from '../../ui/states.js';
import { listOf } from '../../ui/typed-list.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { ClientSecret } from '../onboarding/client-secret.js';

type Client = Schema<'ClientView'>;
type Body = Schema<'ClientBody'>;
type Scope = Body['scopes'][number];
type Method = NonNullable<Body['token_endpoint_auth_methods']>[number];
type Signing = NonNullable<Body['signing_policy']>;

/** What a merchant's client may have. */
const SCOPES: readonly Scope[] = [
  ...(['receipts:write', 'receipts:read', 'refunds:write', 'payments:write', 'payments:read'] as const),
  ...(['catalog:write', 'catalog:read', 'devices:admin', 'devices:read', 'operator:resolve'] as const),
  ...(['operator:read', 'webhooks:admin', 'webhooks:read', 'messages:write', 'clients:admin'] as const),
  ...(['clients:read', 'users:admin', 'users:read'] as const),
];
const METHODS: readonly Method[] = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
const SIGNINGS: readonly Signing[] = ['auto', 'off', 'writes', 'all'];

interface Draft {
  name: string;
  scopes: string[];
  isListed: boolean;
  networks: string;
  needsKey: boolean;
  signing: Signing;
  methods: string[];
}

const NEW: Draft = {
  ...{ name: '', scopes: ['receipts:write', 'receipts:read', 'refunds:write', 'catalog:read'], isListed: false },
  ...{ networks: '', needsKey: true, signing: 'auto', methods: [...METHODS] },
};

function draftOf(client: Client): Draft {
  return {
    ...{ name: client.name, scopes: client.scopes, isListed: client.ip_policy === 'listed' },
    ...{ networks: client.allowed_cidrs.join('\n'), needsKey: client.require_idempotency_key },
    ...{ signing: client.signing_policy, methods: client.token_endpoint_auth_methods },
  };
}

function bodyOf({ name, scopes, isListed, networks, needsKey, signing, methods }: Draft): Body {
  return {
    name,
    scopes: scopes as Scope[],
    ...(isListed ? { ip_policy: 'listed', allowed_cidrs: listOf(networks) } : { ip_policy: 'any' }),
    require_idempotency_key: needsKey,
    signing_policy: signing,
    token_endpoint_auth_methods: methods as Method[],
  };
}

export function NewClient({ onDone }: { onDone: () => void }): ReactElement {
  const [draft, change, clear] = useDraft<Draft>('client:new', NEW);
  const call = useChange(() => api('post', '/v1/clients', { body: bodyOf(draft) }), {
    clear,
    refreshes: [['clients']],
  });
  const { clients } = useWords();
  if (call.data) return <ClientSecret client={call.data} onDone={onDone} />;
  return <Form draft={draft} change={change} call={call} submit={() => call.mutate()} label={clients.add} />;
}

/** A list without its policy could be one that is not in force. */
function changeOf(shown: Draft, typed: Draft): Schema<'ClientPatch'> {
  const { allowed_cidrs: cidrs, ip_policy: policy, ...rest } = changedFields<Body>(bodyOf(shown), bodyOf(typed));
  if (cidrs === undefined && policy === undefined) return rest;
  const { ip_policy, allowed_cidrs } = bodyOf(typed);
  return { ...rest, ip_policy, ...(allowed_cidrs && { allowed_cidrs }) };
}

/** Rights that another person has taken away since they were shown stay away: only what is changed here is sent. */
export function ChangeClient({ client: newest, onDone }: { client: Client; onDone: () => void }): ReactElement {
  const { action } = useWords();
  // What is read meanwhile is not what the changes are beside.
  const [{ id, shown }] = useState({ id: newest.id, shown: draftOf(newest) });
  // What was typed into another state of the client is not offered again.
  const [draft, change, clear] = useDraft<Draft>(`client:${id}:${JSON.stringify(shown)}`, shown);
  const call = useChange(() => api('patch', '/v1/clients/{id}', { path: { id }, body: changeOf(shown, draft) }), {
    clear,
    refreshes: [['clients']],
    onDone,
  });
  return <Form draft={draft} change={change} call={call} submit={() => call.mutate()} label={action.save} />;
}

interface FormProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  call: { error: unknown; isPending: boolean };
  submit: () => void;
  label: string;
}

function Form({ draft, change, call, submit, label }: FormProps): ReactElement {
  const { clients } = useWords();
  const { can } = useSession();
  const fault = (name: string): string | null => faultAt(call.error, `/${name}`);
  // What the person lacks cannot be given; what the client has of it stays to be seen.
  const offered = SCOPES.filter((scope) => can(scope) || draft.scopes.includes(scope));
  const isIncomplete = draft.scopes.length === 0 || draft.methods.length === 0;
  const field = draftFields(draft, change, call.error);
  return (
    <CallForm call={call} onSubmit={submit} label={label} disabled={isIncomplete}>
      <TextField label={clients.name} required maxLength={128} {...field('name')} />
      <ChoiceField
        legend={clients.scopes}
        options={offered.map((value) => ({ value, label: value }))}
        chosen={draft.scopes}
        error={draft.scopes.length === 0 ? clients.none : fault('scopes')}
        onChoose={(scopes) => change({ scopes })}
      />
      <CheckField label={clients.onlyListed} checked={draft.isListed} onValue={(isListed) => change({ isListed })} />
      {draft.isListed && (
        <TextArea label={clients.addresses} hint={clients.listHint} rows={4} {...field('networks', '/allowed_cidrs')} />
      )}
      <SelectField
        label={clients.signing}
        value={draft.signing}
        options={SIGNINGS.map((value) => ({ value, label: clients.signings[value] }))}
        error={fault('signing_policy')}
        onValue={(next) => change({ signing: SIGNINGS.find((known) => known === next) ?? 'auto' })}
      />
      <ChoiceField
        legend={clients.proves}
        options={METHODS.map((value) => ({ value, label: value }))}
        chosen={draft.methods}
        error={draft.methods.length === 0 ? clients.none : fault('token_endpoint_auth_methods')}
        onChoose={(methods) => change({ methods })}
      />
      <CheckField label={clients.needsKey} checked={draft.needsKey} onValue={(needsKey) => change({ needsKey })} />
    </CallForm>
  );
}
