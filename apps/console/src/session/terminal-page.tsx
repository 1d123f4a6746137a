import { useMutation } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { sendForJson } from '../api/call.js';
import { useWords } from '../i18n/i18n.js';
import { Button } from '../ui/button.js';
import { Card, Facts, PageHead } from '../ui/shown.js';
import { Empty, ProblemNote } from '../ui/states.js';
import { useSession } from './session-context.js';

interface Asked {
  challenge: string;
  state: string;
  port: number;
}

/** So many characters of the challenge the terminal shows as well: a link that somebody else made has others. */
const SHOWN = 6;

/** A command line on this machine asks to act for the person (`fgw login --browser`). */
export function TerminalPage(): ReactElement {
  const { terminal } = useWords();
  const asked = askedOf(useSearch({ strict: false }));
  return (
    <div className="page">
      <PageHead title={terminal.title} />
      {asked === null ? <Empty>{terminal.invalid}</Empty> : <Question asked={asked} />}
    </div>
  );
}

function Question({ asked }: { asked: Asked }): ReactElement {
  const { terminal } = useWords();
  const { me } = useSession();
  const allow = useMutation({
    mutationFn: () =>
      sendForJson<{ code: string }>({
        ...{ method: 'POST', path: '/v1/session/terminal', body: { code_challenge: asked.challenge } },
      }),
    onSuccess: ({ code }) => goBack(asked, { code, ...(me.merchant && { merchant: me.merchant.id }) }),
  });
  return (
    <Card title={me.user?.name ?? terminal.title}>
      <div className="stack">
        <p>{terminal.ask}</p>
        {me.merchant && <Facts rows={[[terminal.merchant, me.merchant.name]]} />}
        <p>
          {terminal.check} <code className="code">{asked.challenge.slice(0, SHOWN)}</code>
        </p>
        <ProblemNote problem={allow.error} />
        <Button tone="primary" onClick={() => allow.mutate()} busy={allow.isPending}>
          {terminal.allow}
        </Button>
        <Button onClick={() => goBack(asked, { error: 'access_denied' })}>{terminal.refuse}</Button>
      </div>
    </Card>
  );
}

/** To this machine and to no other: a code that leaves it is worth nothing without the verifier, but need not leave it. */
function goBack({ port, state }: Asked, answer: Record<string, string>): void {
  location.assign(`http://127.0.0.1:${port}/?${new URLSearchParams({ state, ...answer }).toString()}`);
}

function askedOf({ challenge, state, port }: Partial<Record<string, unknown>>): Asked | null {
  if (typeof challenge !== 'string' || !/^[\w-]{43}$/.test(challenge)) return null;
  if (typeof state !== 'string' || !/^[\w-]{16,64}$/.test(state)) return null;
  const number = typeof port === 'string' && /^\d{4,5}$/.test(port) ? Number(port) : 0;
  return number >= 1_024 && number <= 65_535 ? { challenge, state, port: number } : null;
}
