import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { SelectField } from '../../ui/field.js';
import { Badge, Card, Copyable, Facts, PageHead, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty, Loaded, Loading, NeedsScope, ProblemNote } from '../../ui/states.js';
import { WebhookActions } from './webhook-actions.js';
import { WebhookBadge } from './webhooks-screen.js';

type Delivery = Schema<'DeliveryView'>;
const TONES: Record<Delivery['state'], BadgeTone> = { pending: 'busy', failed: 'bad', delivered: 'good' };

export function WebhookScreen(): ReactElement {
  return (
    <NeedsScope scope="webhooks:read">
      <OneWebhook />
    </NeedsScope>
  );
}

function OneWebhook(): ReactElement {
  const { hooks } = useWords();
  const { can } = useSession();
  const { id } = useParams({ from: '/app/webhooks/$id' });
  const query = useQuery({
    queryKey: ['webhook', id],
    queryFn: () => api('get', '/v1/webhooks/{id}', { path: { id } }),
  });
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

function Deliveries({ id }: { id: string }): ReactElement {
  const { hooks, state: texts, action } = useWords();
  const { state } = useSearch({ from: '/app/webhooks/$id' });
  const navigate = useNavigate();
  const list = useInfiniteQuery({
    queryKey: ['deliveries', id, state],
    queryFn: ({ pageParam }) =>
      api('get', '/v1/webhooks/{id}/deliveries', { path: { id }, query: { state, limit: 30, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: 10_000,
  });
  const deliveries = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const filter = (next: string): void =>
    void navigate({ to: '/webhooks/$id', params: { id }, search: next === '' ? {} : { state: next } });
  return (
    <Card
      title={hooks.deliveries}
      actions={
        <Button onClick={() => void list.refetch()} busy={list.isRefetching}>
          {action.refresh}
        </Button>
      }
    >
      <SelectField
        label={hooks.state}
        value={state ?? ''}
        options={[
          { value: '', label: hooks.any },
          ...Object.entries(hooks.states).map(([value, label]) => ({ value, label })),
        ]}
        onValue={filter}
      />
      {list.isPending && <Loading />}
      {list.error && <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />}
      {list.data && deliveries.length === 0 && <Empty>{state === undefined ? texts.empty : texts.emptyFiltered}</Empty>}
      <ul className="plain-list">
        {deliveries.map((delivery) => (
          <DeliveryLine key={delivery.id} delivery={delivery} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button onClick={() => void list.fetchNextPage()} busy={list.isFetchingNextPage}>
          {texts.more}
        </Button>
      )}
    </Card>
  );
}

function DeliveryLine({ delivery }: { delivery: Delivery }): ReactElement {
  const { hooks } = useWords();
  return (
    <li className="line-item">
      <span>
        <strong>{delivery.type}</strong> <Time at={delivery.created_at} />
        <small className="hint block">
          <code className="code">{delivery.subject_id}</code>
        </small>
      </span>
      <Badge tone={TONES[delivery.state]}>{hooks.states[delivery.state]}</Badge>
      {delivery.attempts.length > 0 && (
        <details className="whole-line">
          <summary>
            {hooks.attempts}: {delivery.attempt_count}
          </summary>
          <ol className="plain-list">
            {delivery.attempts.map((attempt) => (
              <li key={attempt.number}>
                {attempt.number}. <Time at={attempt.at} /> · <code className="code">{attempt.outcome}</code>
                {attempt.http_status !== null && ` · HTTP ${attempt.http_status}`} · {attempt.duration_ms} ms
                {attempt.answer !== null && attempt.answer !== '' && <pre className="json">{attempt.answer}</pre>}
              </li>
            ))}
          </ol>
        </details>
      )}
    </li>
  );
}
