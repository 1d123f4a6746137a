import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { Card, Json, Time } from '../../ui/shown.js';
import { Loaded } from '../../ui/states.js';

type Entry = Schema<'TimelineEntry'>;

/** Everything that is known of a receipt, the oldest first: attempts with their evidence, events, payments, deliveries. */
export function Timeline({ receiptId, isMoving }: { receiptId: string; isMoving: boolean }): ReactElement {
  const { receipts } = useWords();
  const query = useGet(['timeline', receiptId], '/v1/receipts/{id}/timeline', {
    path: { id: receiptId },
    query: { limit: 500 },
    refetchInterval: isMoving ? 2_000 : false,
  });
  return (
    <Card title={receipts.timeline.title}>
      <Loaded query={query}>
        {({ data }) => (
          <ol className="timeline">
            {data.map((entry) => (
              <TimelineEntry key={entry.id} entry={entry} />
            ))}
          </ol>
        )}
      </Loaded>
    </Card>
  );
}

function TimelineEntry({ entry }: { entry: Entry }): ReactElement {
  const { receipts } = useWords();
  const { data, status } = entry;
  return (
    <li className={`timeline-entry timeline-${entry.kind}`}>
      <Time at={entry.at} />
      <div>
        <strong>{titleOf(entry, receipts)}</strong> {status !== null && <StatusText entry={entry} status={status} />}
        {Object.keys(data).length > 0 && (
          <details>
            <summary>{receipts.timeline.evidence}</summary>
            <Json value={data} />
          </details>
        )}
      </div>
    </li>
  );
}

/** In the person's language; a state that this page does not know yet by its name. */
function StatusText({ entry, status }: { entry: Entry; status: string }): ReactElement {
  const words = useWords();
  const known = wordsOf(entry.kind, words);
  if (!Object.hasOwn(known, status)) return <code className="code">{status}</code>;
  return <span className="hint">{known[status]}</span>;
}

function wordsOf(kind: Entry['kind'], { receipts, fleet, payments, hooks }: Words): Readonly<Record<string, string>> {
  switch (kind) {
    case 'payment':
      return payments.statuses;
    case 'payment_call':
      return payments.callOutcomes;
    case 'payment_refund':
      return payments.back;
    case 'delivery':
      return hooks.states;
    case 'delivery_attempt':
      return hooks.outcomes;
    default:
      return { ...fleet.register.attempt, ...receipts.status };
  }
}

/** A kind that this page does not know yet is shown by its name. */
function titleOf({ kind, data }: Entry, { timeline }: Words['receipts']): string {
  const number = typeof data['number'] === 'number' ? String(data['number']) : '';
  switch (kind) {
    case 'attempt_opened':
    case 'attempt_closed':
    case 'delivery_attempt':
      return timeline[kind](number);
    case 'event':
      return typeof data['type'] === 'string' ? `${timeline.event} ${data['type']}` : timeline.event;
    case 'accepted':
    case 'left':
    case 'moved':
    case 'attempt_archived':
    case 'refund':
    case 'payment':
    case 'payment_call':
    case 'payment_refund':
    case 'provider_call':
    case 'delivery':
      return timeline[kind];
    default:
      return kind;
  }
}
