import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { PageHead } from '../../ui/shown.js';
import { NeedsScope } from '../../ui/states.js';
import { AuditTrail } from './audit-trail.js';
import { Clients } from './clients.js';

/** Who may do what, and who did what. */
export function AccessScreen(): ReactElement {
  const { nav, clients } = useWords();
  const { view } = useSearch({ from: '/app/access' });
  const navigate = useNavigate();
  const show = (next?: string): void =>
    void navigate({ to: '/access', search: next === undefined ? {} : { view: next } });
  return (
    <NeedsScope scope="clients:read">
      <div className="page">
        <PageHead title={nav.access}>
          <Button tone={view === 'audit' ? 'plain' : 'primary'} onClick={() => show()}>
            {clients.title}
          </Button>
          <Button tone={view === 'audit' ? 'primary' : 'plain'} onClick={() => show('audit')}>
            {clients.audit}
          </Button>
        </PageHead>
        {view === 'audit' ? <AuditTrail /> : <Clients />}
      </div>
    </NeedsScope>
  );
}
