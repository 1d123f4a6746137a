import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Card, Copyable, Facts, Json, PageHead, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty, faultAt, Loaded, ProblemNote, withScope } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { WebhookActions } from './webhook-actions.js';
import { WebhookBadge } from './webhooks-screen.js';

type Delivery = Schema<'DeliveryView'>;
const TONES: Record<Delivery['state'], BadgeTone> = { pending: 'busy', failed: 'bad', delivered: 'good' };

export const WebhookScreen = withScope('webhooks:read', OneWebhook);

function OneWebhook(): ReactElement {
  const { hooks } = useWords();
  const { can } = useSession();
  const { id } = useParams({ from: '/app/webhooks/$id' });
  const query = useGet(['webhook', id], '/v1/webhooks/{id}', { path: { id } });
  return (
    <Loaded query={query}>
      {(webhook) => (
        <div className="page">
          <PageHead
            title={
              <span className="wrap">
                {webhook.url} <WebhookBadge webhook={webhook} />
              </span>
            }
          >
            {can('webhooks:admin') && <WebhookActions webhook={webhook} />}
          </PageHead>
          <Card title={hooks.endpoint}>
            <Facts
              rows={[
                ['ID', <Copyable text={webhook.id} />],
                [hooks.events, webhook.events.join(', ')],
                [hooks.description, webhook.description],
                [hooks.batch, String(webhook.batch_size)],
                [hooks.failingSince, webhook.failing_since && <Time at={webhook.failing_since} />],
                [hooks.disabled, webhook.disabled_reason],
              ]}
            />
          </Card>
          <Deliveries id={id} />
        </div>
      )}
    </Loaded>
  );
}

type DeliverySearch = { state?: string; type?: string; http_status?: string };

function Deliveries({ id }: { id: string }): ReactElement {
  const { hooks, state: texts, action } = useWords();
  const search = useSearch({ from: '/app/webhooks/$id' });
  const navigate = useNavigate();
  const { list, rows: deliveries } = usePages(
    ['deliveries', id, search],
    ({ cursor, signal }) =>
      api('get', '/v1/webhooks/{id}/deliveries', {
        signal,
        path: { id },
        query: { ...search, limit: 30, cursor },
      }),
    10_000,
  );
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Card
      title={hooks.deliveries}
      actions={
        <Button onClick={() => void list.refetch()} busy={list.isRefetching}>
          {action.refresh}
        </Button>
      }
    >
      <DeliveryFilters
        key={JSON.stringify(search)}
        search={search}
        problem={list.error}
        onApply={(next) => void navigate({ to: '/webhooks/$id', params: { id }, search: next })}
      />
      <Pages list={list} empty={<Empty>{isFiltered ? texts.emptyFiltered : texts.empty}</Empty>}>
        <ul className="plain-list">
          {deliveries.map((delivery) => (
            <DeliveryLine key={delivery.id} webhookId={id} delivery={delivery} />
          ))}
        </ul>
      </Pages>
    </Card>
  );
}

interface FiltersProps {
  search: DeliverySearch;
  problem: unknown;
  onApply: (search: DeliverySearch) => void;
}

function DeliveryFilters({ search, problem, onApply }: FiltersProps): ReactElement {
  const { hooks, action } = useWords();
  const [typed, setTyped] = useState(search);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onApply(typed);
  };
  return (
    <form className="form-row" role="search" onSubmit={submit}>
      <SelectField
        label={hooks.state}
        value={typed.state ?? ''}
        options={[
          { value: '', label: hooks.any },
          ...Object.entries(hooks.states).map(([value, label]) => ({ value, label })),
        ]}
        onValue={(state) => setTyped({ ...typed, state })}
      />
      <TextField
        label={hooks.type}
        placeholder="receipt.*"
        maxLength={200}
        value={typed.type ?? ''}
        error={faultAt(problem, '/type')}
        onValue={(type) => setTyped({ ...typed, type })}
      />
      <TextField
        label={hooks.http}
        hint={hooks.httpHint}
        maxLength={3}
        value={typed.http_status ?? ''}
        error={faultAt(problem, '/http_status')}
        onValue={(status) => setTyped({ ...typed, http_status: status })}
      />
      <div className="filters-actions">
        <Button type="submit">{action.apply}</Button>
      </div>
    </form>
  );
}

/** What was sent, and the beginning of what came back. */
function DeliveryDetail({ webhookId, delivery }: { webhookId: string; delivery: Delivery }): ReactElement {
  const { hooks } = useWords();
  const query = useGet(['delivery', delivery.id, delivery.attempt_count], '/v1/webhooks/{id}/deliveries/{deliveryId}', {
    path: { id: webhookId, deliveryId: delivery.id },
  });
  return (
    <div className="stack">
      <ol className="plain-list">
        {delivery.attempts.map((attempt) => (
          <li key={attempt.number}>
            {attempt.number}. <Time at={attempt.at} /> · <code className="code">{attempt.outcome}</code>
            {attempt.http_status !== null && ` · HTTP ${attempt.http_status}`} · {attempt.duration_ms} ms
            {attempt.answer !== null && attempt.answer !== '' && <pre className="json">{attempt.answer}</pre>}
          </li>
        ))}
      </ol>
      <Loaded query={query}>
        {({ request }) => (
          <>
            <p className="wrap">
              <strong>{hooks.request}:</strong> <code className="code">{`${request.method} ${request.url}`}</code>
            </p>
            <h3>{hooks.headers}</h3>
            <Json value={request.sent_headers} />
            <h3>{hooks.body}</h3>
            <pre className="json" tabIndex={0}>
              {request.body}
              {request.body_truncated && ' …'}
            </pre>
          </>
        )}
      </Loaded>
    </div>
  );
}

function DeliveryLine({ webhookId, delivery }: { webhookId: string; delivery: Delivery }): ReactElement {
  const { hooks } = useWords();
  const { can } = useSession();
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="line-item">
      <span>
        <strong>{delivery.type}</strong> <Time at={delivery.created_at} />
        <small className="hint block">
          <code className="code">{delivery.subject_id}</code>
        </small>
      </span>
      <Badge tone={TONES[delivery.state]}>{hooks.states[delivery.state]}</Badge>
      {can('webhooks:admin') && delivery.state !== 'pending' && <Resend webhookId={webhookId} delivery={delivery} />}
      <details className="whole-line" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          {hooks.attempts}: {delivery.attempt_count}
        </summary>
        {isOpen && <DeliveryDetail webhookId={webhookId} delivery={delivery} />}
      </details>
    </li>
  );
}

/** The same event once more, to this endpoint alone. */
function Resend({ webhookId, delivery }: { webhookId: string; delivery: Delivery }): ReactElement {
  const { hooks } = useWords();
  const resend = useChange(
    () => api('post', '/v1/webhooks/{id}/replay', { path: { id: webhookId }, body: { event_id: delivery.event_id } }),
    { refreshes: [['deliveries', webhookId]] },
  );
  return (
    <>
      <Button onClick={() => resend.mutate()} busy={resend.isPending}>
        {hooks.resend}
      </Button>
      <ProblemNote problem={resend.error} />
    </>
  );
}
