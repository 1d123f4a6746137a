import { useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useWords, type Words } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { PageHead } from '../../ui/shown.js';
import { NeedsScope } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { Brand } from './brand.js';
import { MessageAccounts } from './message-accounts.js';
import { SentMessages } from './sent-messages.js';
import { Suppressions } from './suppressions.js';
import { Templates } from './templates.js';

type View = keyof Words['messages']['views'];

const SCOPES: Record<View, string> = {
  sent: 'messages:write',
  templates: 'messages:write',
  suppressions: 'messages:write',
  accounts: 'clients:admin',
  brand: 'devices:admin',
};
const VIEWS = Object.keys(SCOPES) as View[];

/** How receipts reach their buyers. */
export function MessagesScreen(): ReactElement {
  const { messages: words } = useWords();
  const { can } = useSession();
  const { view: wanted } = useSearch({ from: '/app/messages' });
  const offered = VIEWS.filter((view) => can(SCOPES[view]));
  const view = VIEWS.find((known) => known === wanted) ?? offered[0] ?? 'sent';
  const part = {
    sent: <SentMessages />,
    templates: <Templates />,
    suppressions: <Suppressions />,
    accounts: <MessageAccounts />,
    brand: <Brand />,
  }[view];
  return (
    <div className="page">
      <PageHead title={words.title} />
      <Tabs
        label={words.title}
        to="/messages"
        tabs={offered.map((one) => ({ view: one, title: words.views[one] }))}
        shown={view}
      />
      <NeedsScope scope={SCOPES[view]}>{part}</NeedsScope>
    </div>
  );
}
