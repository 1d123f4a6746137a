import { useInfiniteQuery } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Empty, Loading, ProblemNote } from '../../ui/states.js';
import { AuditVerification } from './audit-verification.js';
import { AuditRecords } from './audit-records.js';

/** What was changed and refused, the newest first. */
export function AuditTrail(): ReactElement {
  const { clients, state, action } = useWords();
  const [typed, setTyped] = useState('');
  const [filter, setFilter] = useState<string | undefined>(undefined);
  const list = useInfiniteQuery({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam, signal }) =>
      api('get', '/v1/audit', { signal, query: { action: filter, limit: 50, cursor: pageParam } }),
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
      <AuditVerification />
      {list.isPending && <Loading />}
      {list.error && <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />}
      {list.data && records.length === 0 && <Empty />}
      <AuditRecords records={records} />
      {list.hasNextPage && (
        <Button onClick={() => void list.fetchNextPage()} busy={list.isFetchingNextPage}>
          {state.more}
        </Button>
      )}
    </section>
  );
}
