import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { SelectField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Json, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty } from '../../ui/states.js';

type Message = Schema<'MessageView'>;

const STATES = ['pending', 'sending', 'unclear', 'sent', 'delivered', 'failed'] as const;
const TONES: Record<Message['state'], BadgeTone> = {
  pending: 'busy',
  sending: 'busy',
  unclear: 'warn',
  sent: 'good',
  delivered: 'good',
  failed: 'bad',
};

export function SentMessages(): ReactElement {
  const { messages: words } = useWords();
  const [state, setState] = useState<Message['state'] | ''>('');
  const { list, rows } = usePages(
    ['messages', state],
    ({ cursor, signal }) =>
      api('get', '/v1/messages', { signal, query: { state: state || undefined, limit: 50, cursor } }),
    15_000,
  );
  return (
    <section className="card">
      <div className="form-row">
        <SelectField
          label={words.stateLabel}
          value={state}
          options={[
            { value: '', label: words.anyState },
            ...STATES.map((value) => ({ value, label: words.state[value] })),
          ]}
          onValue={(value) => setState(STATES.find((known) => known === value) ?? '')}
        />
      </div>
      <Pages list={list} empty={<Empty>{words.none}</Empty>}>
        <MessageList messages={rows} withReceipt />
      </Pages>
    </section>
  );
}

interface ListProps {
  messages: readonly Message[];
  withReceipt?: boolean;
}

/** Each with its tries: what was sent, when, and what the provider said. */
export function MessageList({ messages, withReceipt = false }: ListProps): ReactElement {
  const { messages: words } = useWords();
  return (
    <ol className="plain-list">
      {messages.map((message) => (
        <li key={message.id} className="line-item">
          <span className="wrap">
            <strong>{words.channel[message.channel]}</strong> {message.to} <Time at={message.created_at} />
            <small className="hint block">
              {words.tries(String(message.attempt_count))}
              {message.reason !== null && ` · ${message.reason}`}
              {withReceipt && (
                <>
                  {' · '}
                  <Link to="/receipts/$id" params={{ id: message.receipt_id }}>
                    {words.receipt}
                  </Link>
                </>
              )}
            </small>
          </span>
          <Badge tone={TONES[message.state]}>{words.state[message.state]}</Badge>
          {message.attempts.length > 0 && (
            <details className="whole-line">
              <summary>{words.tries(String(message.attempts.length))}</summary>
              <Json value={message.attempts} />
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}
