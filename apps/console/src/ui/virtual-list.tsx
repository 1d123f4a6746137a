import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type KeyboardEvent, type ReactElement, type ReactNode } from 'react';
import { useWords } from '../i18n/i18n.js';
import { ProblemNote } from './states.js';
import { NARROW, useMedia } from './use-media.js';

export interface Column<T> {
  key: string;
  title: string;
  /** Of the grid: `minmax(8rem, 1fr)`. */
  width: string;
  align?: 'end';
  cell: (row: T) => ReactNode;
}

interface Props<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  /** The row on a narrow screen, two lines high. */
  compact: (row: T) => ReactNode;
  list: MorePages;
}

/** What of an infinite query says how the list goes on. */
interface MorePages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: unknown;
  fetchNextPage: () => Promise<unknown>;
}

const ROW = 44;
const COMPACT_ROW = 74;
/** So many rows before the end the next page is asked for. */
const AHEAD = 15;

/** A table of which only the rows in sight exist: a million of them cost as much as thirty. */
export function VirtualList<T>(props: Props<T>): ReactElement {
  const { label, rows, columns, keyOf, compact, list } = props;
  const {
    hasNextPage: hasMore,
    isFetchingNextPage: isLoadingMore,
    isFetchNextPageError: hasFailed,
    fetchNextPage,
  } = list;
  const { state } = useWords();
  const isNarrow = useMedia(NARROW);
  const scroller = useRef<HTMLDivElement>(null);
  const height = isNarrow ? COMPACT_ROW : ROW;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 10,
  });
  useEffect(() => virtual.measure(), [virtual, height]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    // A page that failed is asked for again by a person only: what fails at once would be asked for without end.
    if (hasMore && !isLoadingMore && !hasFailed && last >= rows.length - AHEAD) void fetchNextPage();
  }, [hasMore, isLoadingMore, hasFailed, last, rows.length, fetchNextPage]);
  const template = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') };
  return (
    <div className="grid">
      <div
        className="grid-scroll"
        ref={scroller}
        onKeyDown={moveByArrows}
        role="table"
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
      >
        <Head columns={columns} template={template} isNarrow={isNarrow} />
        <div role="rowgroup" className="grid-body" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const place = { transform: `translateY(${start}px)`, height };
            return (
              <div
                key={keyOf(row)}
                role="row"
                aria-rowindex={index + 2}
                className={isNarrow ? 'grid-row grid-line grid-compact' : 'grid-row grid-line'}
                style={isNarrow ? place : { ...place, ...template }}
              >
                {isNarrow ? (
                  <div role="cell">{compact(row)}</div>
                ) : (
                  columns.map(({ key, align, cell }) => (
                    <span key={key} role="cell" className={align === 'end' ? 'end' : undefined}>
                      {cell(row)}
                    </span>
                  ))
                )}
              </div>
            );
          })}
        </div>
      </div>
      {hasFailed && <ProblemNote problem={list.error} onRetry={() => void fetchNextPage()} />}
      <p className="grid-foot" role="status">
        {isLoadingMore ? state.loading : hasMore ? '' : state.end}
      </p>
    </div>
  );
}

interface HeadProps<T> {
  columns: readonly Column<T>[];
  template: { gridTemplateColumns: string };
  isNarrow: boolean;
}

function Head<T>({ columns, template, isNarrow }: HeadProps<T>): ReactElement {
  return (
    <div role="rowgroup" className={isNarrow ? 'visually-hidden' : 'grid-head-group'}>
      <div className="grid-row grid-head" role="row" style={template}>
        {columns.map(({ key, title, align }) => (
          <span key={key} role="columnheader" className={align === 'end' ? 'end' : undefined}>
            {title}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Up and down go from row to row; the row's own link opens it. */
function moveByArrows(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('.row-link')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = links[at + (event.key === 'ArrowDown' ? 1 : -1)];
  if (at === -1 || !next) return;
  event.preventDefault();
  next.focus();
}
