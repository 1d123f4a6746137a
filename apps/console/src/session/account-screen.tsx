import type { ReactElement } from 'react';
import { api } from '../api/api.js';
import { useGet } from '../api/use-get.js';
import { useWords } from '../i18n/i18n.js';
import { Button } from '../ui/button.js';
import { Badge, Card, Facts, PageHead, Time } from '../ui/shown.js';
import { Loaded, ProblemNote } from '../ui/states.js';
import { useChange } from '../ui/use-change.js';
import { Factors } from './factors.js';
import { useSession } from './session-context.js';

export function AccountScreen(): ReactElement {
  const { nav, account, access } = useWords();
  const { me } = useSession();
  return (
    <div className="page">
      <PageHead title={nav.account} />
      <Card title={me.user?.name ?? nav.account}>
        <Facts
          rows={[
            [account.email, me.user?.email],
            [access.roles, rolesText([...(me.roles ?? []), ...(me.platform_roles ?? [])], access.role)],
            [account.until, me.session && <Time at={me.session.expires_at} />],
          ]}
        />
      </Card>
      {me.kind === 'user' && <Factors />}
      {me.kind === 'user' && <Sessions />}
    </div>
  );
}

/** Each once, in the person's language. */
function rolesText(roles: readonly string[], names: Record<string, string>): string {
  return [...new Set(roles)].map((role) => names[role] ?? role).join(' · ');
}

/** Where this person is logged in; a session that is not theirs can be ended. */
function Sessions(): ReactElement {
  const { account } = useWords();
  const query = useGet(['sessions'], '/v1/sessions', { query: { limit: 100 } });
  const after = { refreshes: [['sessions']] };
  const end = useChange((id: string) => api('delete', '/v1/sessions/{id}', { path: { id } }), after);
  const endOthers = useChange(() => api('post', '/v1/sessions/revoke-others'), after);
  return (
    <Card
      title={account.sessions}
      actions={
        <Button onClick={() => endOthers.mutate()} busy={endOthers.isPending}>
          {account.endOthers}
        </Button>
      }
    >
      <ProblemNote problem={end.error ?? endOthers.error} />
      <Loaded query={query}>
        {({ data }) => (
          <ul className="plain-list">
            {data.map((one) => (
              <li key={one.id} className="line-item">
                <span>
                  <Time at={one.last_seen_at} /> · {one.address}
                  <small className="hint block wrap">{one.user_agent}</small>
                </span>
                {one.current ? (
                  <Badge tone="good">{account.current}</Badge>
                ) : (
                  <Button onClick={() => end.mutate(one.id)} disabled={end.isPending}>
                    {account.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
