import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Card } from '../../ui/shown.js';
import { Loaded } from '../../ui/states.js';
import { ATTENTION, RegisterState } from '../registers/register-state.js';

const SHOWN = 8;
const REFRESH_MS = 30_000;

/** The registers for which something is to be done; the morning begins with them. */
export function InTrouble(): ReactElement | null {
  const { overview: words, state } = useWords();
  const { can } = useSession();
  const isAllowed = can('devices:read');
  const query = useGet(['devices', 'in-trouble'], '/v1/devices', {
    query: { attention: 'true', limit: SHOWN },
    refetchInterval: REFRESH_MS,
    enabled: isAllowed,
  });
  if (!isAllowed) return null;
  return (
    <Card title={words.inTrouble}>
      <Loaded query={query}>
        {({ data, next_cursor: more }) => (
          <>
            {data.length === 0 && <p className="hint">{words.noneInTrouble}</p>}
            <ul className="plain-list">
              {data.map(({ id, name, state: shown }) => (
                <li key={id} className="line-item">
                  <Link to="/registers/$id" params={{ id }} className="wrap">
                    {name}
                  </Link>
                  <RegisterState state={shown} />
                </li>
              ))}
            </ul>
            {more !== null && (
              <Link to="/registers" search={{ state: ATTENTION }}>
                {state.all}
              </Link>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}
