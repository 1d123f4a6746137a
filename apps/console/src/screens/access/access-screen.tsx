import { useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useWords, type Words } from '../../i18n/i18n.js';
import { useSession, type Session } from '../../session/session-context.js';
import { PageHead } from '../../ui/shown.js';
import { NeedsScope } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { Approvals } from './approvals.js';
import { AuditTrail } from './audit-trail.js';
import { Clients } from './clients.js';
import { Users } from './users.js';

type View = keyof Words['access']['views'];

/** What each part's calls need; approvals are for every person, who sees there what its own rights cover. */
const SCOPES: Record<View, string | null> = {
  users: 'users:read',
  clients: 'clients:read',
  approvals: null,
  audit: 'clients:read',
};

function viewsOf({ can, me }: Session): View[] {
  return (Object.keys(SCOPES) as View[]).filter((view) => {
    const scope = SCOPES[view];
    return scope === null ? me.kind === 'user' : can(scope);
  });
}

/** Who may do what, who did what, and what waits for a second person. */
export function AccessScreen(): ReactElement {
  const { nav, access } = useWords();
  const { view: wanted } = useSearch({ from: '/app/access' });
  const offered = viewsOf(useSession());
  const view = (Object.keys(SCOPES) as View[]).find((known) => known === wanted) ?? offered[0] ?? 'users';
  return (
    <div className="page">
      <PageHead title={nav.access} />
      <Tabs
        label={nav.access}
        to="/access"
        tabs={offered.map((one) => ({ view: one, title: access.views[one] }))}
        shown={view}
      />
      <Shown view={view} />
    </div>
  );
}

function Shown({ view }: { view: View }): ReactElement {
  const scope = SCOPES[view];
  const part = { users: <Users />, clients: <Clients />, approvals: <Approvals />, audit: <AuditTrail /> }[view];
  return scope === null ? part : <NeedsScope scope={scope}>{part}</NeedsScope>;
}
