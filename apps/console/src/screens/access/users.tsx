import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm, SureCall } from '../../ui/call-form.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { draftFields } from '../../ui/draft-fields.js';
import { CheckField, TextField } from '../../ui/field.js';
import { More, Pages, usePages } from '../../ui/pages.js';
import { Card, Facts, Time } from '../../ui/shown.js';
import { faultAt, Loading, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { InvitationLink } from './invitation-link.js';

type User = Schema<'UserView'>;
type Role = keyof Words['access']['role'];

const MERCHANT_ROLES: readonly Role[] = ['owner', 'operator', 'accountant', 'support', 'developer'];
const PLATFORM_ROLES: readonly Role[] = ['platform_administrator', 'platform_reader'];

/** Users of the merchant, or of the platform where none is chosen, and the links that wait for people. */
export function Users(): ReactElement {
  const { access } = useWords();
  const { can } = useSession();
  const { list, rows: users } = usePages(['users'], ({ cursor, signal }) =>
    api('get', '/v1/users', { signal, query: { limit: 50, cursor } }),
  );
  return (
    <>
      {can('users:admin') && (
        <div className="row-actions">
          <DialogButton label={access.invite} tone="primary">
            {(close) => <Invite onDone={close} />}
          </DialogButton>
        </div>
      )}
      <Pages list={list}>
        <ul className="tiles">
          {users.map((user) => (
            <UserTile key={user.id} user={user} />
          ))}
        </ul>
      </Pages>
      <Invitations />
    </>
  );
}

function roleName(role: string, names: Words['access']['role']): string {
  return Object.entries(names).find(([name]) => name === role)?.[1] ?? role;
}

function UserTile({ user }: { user: User }): ReactElement {
  const { access, account } = useWords();
  const { can } = useSession();
  return (
    <li className="tile">
      <div className="tile-head">
        <strong className="wrap">{user.name}</strong>
      </div>
      <Facts
        rows={[
          [account.email, user.email],
          [access.roles, user.roles.map((role) => roleName(role, access.role)).join(' · ')],
          [access.lastLogin, <Time at={user.last_login_at} />],
        ]}
      />
      {can('users:admin') && (
        <div className="row-actions">
          <DialogButton label={access.changeRoles}>
            {(close) => <ChangeRoles user={user} onDone={close} />}
          </DialogButton>
          <DialogButton label={access.removeUser}>{(close) => <RemoveUser user={user} onDone={close} />}</DialogButton>
        </div>
      )}
    </li>
  );
}

interface RolesProps {
  chosen: readonly Role[];
  onChoose: (roles: Role[]) => void;
  problem: unknown;
}

function RoleChoice({ chosen, onChoose, problem }: RolesProps): ReactElement {
  const { access } = useWords();
  const { me } = useSession();
  const offered = me.merchant || me.kind === 'client' ? MERCHANT_ROLES : PLATFORM_ROLES;
  const fault = faultAt(problem, '/roles');
  return (
    <fieldset className="radios">
      <legend>{access.roles}</legend>
      {offered.map((role) => (
        <CheckField
          key={role}
          label={access.role[role]}
          checked={chosen.includes(role)}
          onValue={(isChosen) => onChoose(isChosen ? [...chosen, role] : chosen.filter((other) => other !== role))}
        />
      ))}
      {fault !== null && (
        <small className="error" role="alert">
          {fault}
        </small>
      )}
    </fieldset>
  );
}

function rolesOf(user: User): Role[] {
  return [...MERCHANT_ROLES, ...PLATFORM_ROLES].filter((role) => user.roles.includes(role));
}

/** Roles are set all together: a role that another person has taken away since they were shown is not given back. */
function ChangeRoles({ user, onDone }: { user: User; onDone: () => void }): ReactElement {
  const { access, action } = useWords();
  const path = { id: user.id };
  const [shown] = useState(() => rolesOf(user));
  const [roles, setRoles] = useState<Role[]>(shown);
  const change = useChange(
    async () => {
      const now = rolesOf(await api('get', '/v1/users/{id}', { path }));
      const added = roles.filter((role) => !shown.includes(role));
      const left = now.filter((role) => roles.includes(role) || !shown.includes(role));
      return api('patch', '/v1/users/{id}', { path, body: { roles: [...new Set([...left, ...added])] } });
    },
    { refreshes: [['users']], onDone },
  );
  return (
    <SureCall call={change} label={action.save} disabled={roles.length === 0} onBack={onDone}>
      <p className="wrap">{user.email}</p>
      <RoleChoice chosen={roles} onChoose={setRoles} problem={change.error} />
      {roles.length === 0 && <p className="hint">{access.noRole}</p>}
    </SureCall>
  );
}

function RemoveUser({ user, onDone }: { user: User; onDone: () => void }): ReactElement {
  const { access } = useWords();
  const remove = useChange(() => api('delete', '/v1/users/{id}', { path: { id: user.id } }), {
    refreshes: [['users']],
    onDone,
  });
  return (
    <SureCall call={remove} label={access.removeUser} tone="danger" onBack={onDone}>
      <p className="wrap">
        <strong>{user.name}</strong> {user.email}
      </p>
      <p>{access.removeText}</p>
    </SureCall>
  );
}

const NO_GUEST: { email: string; roles: Role[] } = { email: '', roles: [] };

function Invite({ onDone }: { onDone: () => void }): ReactElement {
  const { access, account } = useWords();
  const [draft, change, clear] = useDraft('invite', NO_GUEST);
  const invite = useChange(() => api('post', '/v1/invitations', { body: draft }), {
    clear,
    refreshes: [['invitations']],
  });
  if (invite.data) return <InvitationLink url={invite.data.url} onDone={onDone} />;
  const field = draftFields(draft, change, invite.error);
  return (
    <CallForm call={invite} onSubmit={() => invite.mutate()} label={access.invite} disabled={draft.roles.length === 0}>
      <TextField label={account.email} type="email" required maxLength={254} {...field('email')} />
      <RoleChoice chosen={draft.roles} onChoose={(roles) => change({ roles })} problem={invite.error} />
    </CallForm>
  );
}

/** Links that were not opened yet; each can be taken back. */
function Invitations(): ReactElement {
  const { access } = useWords();
  const { can } = useSession();
  const { list, rows: open } = usePages(['invitations'], ({ cursor, signal }) =>
    api('get', '/v1/invitations', { signal, query: { limit: 50, cursor } }),
  );
  const withdraw = useChange((id: string) => api('delete', '/v1/invitations/{id}', { path: { id } }), {
    refreshes: [['invitations']],
  });
  return (
    <Card title={access.invitations}>
      {list.isPending && <Loading />}
      <ProblemNote problem={list.error ?? withdraw.error} />
      {list.data && open.length === 0 && <p className="hint">{access.noInvitations}</p>}
      <ul className="plain-list">
        {open.map(({ id, email, roles, expires_at: until }) => (
          <li key={id} className="line-item">
            <span className="wrap">
              <strong>{email}</strong>
              <small className="hint block">
                {roles.map((role) => roleName(role, access.role)).join(' · ')} · {access.expires} <Time at={until} />
              </small>
            </span>
            {can('users:admin') && (
              <Button onClick={() => withdraw.mutate(id)} disabled={withdraw.isPending}>
                {access.withdraw}
              </Button>
            )}
          </li>
        ))}
      </ul>
      <More list={list} />
    </Card>
  );
}
