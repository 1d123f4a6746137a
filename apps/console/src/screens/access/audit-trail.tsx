import { useInfiniteQuery } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Json, Time } from '../../ui/shown.js';
import { Empty, Loading, ProblemNote } from '../../ui/states.js';

/** What was changed and refused, the newest first. */
export function AuditTrail(): ReactElement {
  const { clients, state, action } = useWords();
  const [typed, setTyped] = useState('');
  const [filter, setFilter] = useState<string | undefined>(undefined);
  const list = useInfiniteQuery({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam }) => api('get', '/v1/audit', { query: { action: filter, limit: 50, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const records = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setFilter(typed.trim() === '' ? undefined : typed.trim());
  };
  return (
    <section className="card">
      <form className="search-form" role="search" onSubmit={submit}>
        <TextField label={clients.find} value={typed} maxLength={64} onValue={setTyped} />
        <Button type="submit">{action.apply}</Button>
      </form>
      {list.isPending && <Loading />}
      {list.error && <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />}
      {list.data && records.length === 0 && <Empty />}
      <ol className="plain-list">
        {records.map((record) => (
          <li key={record.sequence} className="line-item">
            <span>
              <strong>{record.action}</strong> <Time at={record.at} />
              <small className="hint block wrap">
                {clients.actor}: {record.actor} · {clients.subject}: {record.subject_id}
                {record.address !== null && ` · ${clients.address}: ${record.address}`}
              </small>
            </span>
            <details className="whole-line">
              <summary>{clients.details}</summary>
              <Json value={{ before: record.before, after: record.after, hash: record.hash }} />
            </details>
          </li>
        ))}
      </ol>
      {list.hasNextPage && (
        <Button onClick={() => void list.fetchNextPage()} busy={list.isFetchingNextPage}>
          {state.more}
        </Button>
      )}
    </section>
  );
}
