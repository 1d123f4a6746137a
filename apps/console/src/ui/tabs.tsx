import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';

interface Props {
  label: string;
  to: '/access' | '/messages' | '/payments' | '/goods' | '/registers';
  tabs: readonly { view: string; title: string }[];
  shown: string;
}

/** Parts of one screen, each with an address of its own. */
export function Tabs({ label, to, tabs, shown }: Props): ReactElement {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ view, title }) => (
        <Link key={view} to={to} search={{ view }} aria-current={view === shown ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
