import { useInfiniteQuery, type InfiniteData, type UseInfiniteQueryResult } from '@tanstack/react-query';
import { useMemo, type ReactElement, type ReactNode } from 'react';
import { formatCount } from '../format/money.js';
import { useWords } from '../i18n/i18n.js';
import { Button } from './button.js';
import { Empty, Loading, ProblemNote } from './states.js';

interface ApiPage {
  data: readonly unknown[];
  next_cursor: string | null;
}

interface PagedList<P extends ApiPage> {
  list: UseInfiniteQueryResult<InfiniteData<P>>;
  /** Of the pages that are here. */
  rows: P['data'][number][];
}

/** A list of the API that comes page by page. */
export function usePages<P extends ApiPage>(
  queryKey: readonly unknown[],
  read: (page: { cursor: string | undefined; signal: AbortSignal }) => Promise<P>,
  refetchInterval: number | false | ((pages: readonly P[]) => number | false) = false,
): PagedList<P> {
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read({ cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval:
      typeof refetchInterval === 'function' ? ({ state }) => refetchInterval(state.data?.pages ?? []) : refetchInterval,
  });
  const rows = useMemo(
    () => list.data?.pages.flatMap(({ data }): readonly P['data'][number][] => data) ?? [],
    [list.data],
  );
  return { list, rows };
}

/** What of such a list is shown beside its rows. */
interface ListState {
  data: { pages: readonly ApiPage[] } | undefined;
  error: unknown;
  isPending: boolean;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  refetch: () => Promise<unknown>;
  fetchNextPage: () => Promise<unknown>;
}

interface PagesProps {
  list: ListState;
  /** Instead of rows where there are none. */
  empty?: ReactNode;
  /** Says how many rows are here. */
  isCounted?: boolean;
  /** The rows. */
  children: ReactNode;
}

/** Loading, failed, empty, or there, and behind the rows the way to more of them. */
export function Pages({ list, empty = <Empty />, isCounted = false, children }: PagesProps): ReactElement {
  return (
    <>
      {list.isPending && <Loading />}
      {list.error ? <ProblemNote problem={list.error} onRetry={() => void list.refetch()} /> : null}
      {list.data && countOf(list.data) === 0 && !list.hasNextPage && empty}
      {children}
      <More list={list} isCounted={isCounted} />
    </>
  );
}

export function More({ list, isCounted = false }: { list: ListState; isCounted?: boolean }): ReactElement | null {
  const { state } = useWords();
  if (!list.hasNextPage) return null;
  return (
    <Button onClick={() => void list.fetchNextPage()} busy={list.isFetchingNextPage}>
      {state.more}
      {isCounted && list.data && ` (${formatCount(countOf(list.data))})`}
    </Button>
  );
}

function countOf({ pages }: { pages: readonly ApiPage[] }): number {
  return pages.reduce((sum, { data }) => sum + data.length, 0);
}
