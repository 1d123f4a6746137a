import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Receipt } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { CheckField } from '../../ui/field.js';
import { usePages } from '../../ui/pages.js';
import { PageHead } from '../../ui/shown.js';
import { Empty, Loading, ProblemNote, withScope } from '../../ui/states.js';
import { VirtualList } from '../../ui/virtual-list.js';
import { ExportReceipts } from './export-receipts.js';
import { CompactReceipt, useChosenColumns, useReceiptColumns } from './receipt-columns.js';
import { ReceiptFilterForm } from './receipt-filter-form.js';
import type { ReceiptFilters } from './receipt-filters.js';
import { usePlaces, type Places } from './use-places.js';

const PAGE = 100;

export const ReceiptsScreen = withScope('receipts:read', Receipts);

function Receipts(): ReactElement {
  const { receipts, nav, action } = useWords();
  const filters = useSearch({ from: '/app/receipts' });
  const navigate = useNavigate();
  const places = usePlaces();
  const isFiltered = Object.keys(filters).length > 0;
  const [isFormOpen, setFormOpen] = useState(isFiltered);
  const { list, rows } = usePages(['receipts', filters], ({ cursor, signal }) =>
    api('get', '/v1/receipts', { query: { ...filters, limit: PAGE, cursor }, signal }),
  );
  const apply = (next: ReceiptFilters): void => void navigate({ to: '/receipts', search: next });
  return (
    <div className="page page-list">
      <PageHead title={nav.receipts}>
        <Button onClick={() => setFormOpen(!isFormOpen)} aria-expanded={isFormOpen}>
          {receipts.filters}
          {isFiltered && ` (${Object.keys(filters).length})`}
        </Button>
        <Button onClick={() => void list.refetch()} busy={list.isRefetching}>
          {action.refresh}
        </Button>
        <ExportReceipts filters={filters} />
      </PageHead>
      {isFormOpen && (
        <ReceiptFilterForm
          key={JSON.stringify(filters)}
          filters={filters}
          places={places}
          problem={list.error}
          onApply={apply}
        />
      )}
      {list.error && !list.isFetchNextPageError && (
        <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <Loading />}
      {list.data && <Found rows={rows} list={list} places={places} isFiltered={isFiltered} />}
    </div>
  );
}

interface FoundProps {
  rows: Receipt[];
  list: Parameters<typeof VirtualList<Receipt>>[0]['list'];
  places: Places;
  isFiltered: boolean;
}

function Found({ rows, list, places, isFiltered }: FoundProps): ReactElement {
  const { receipts, nav, state } = useWords();
  const { chosen, toggle } = useChosenColumns();
  const { columns, all } = useReceiptColumns(chosen, places.names);
  const [isChoosing, setChoosing] = useState(false);
  if (rows.length === 0) return <Empty>{isFiltered ? state.emptyFiltered : state.empty}</Empty>;
  return (
    <>
      <div className="list-tools">
        <span className="hint">{receipts.loaded(formatCount(rows.length) + (list.hasNextPage ? '+' : ''))}</span>
        <span className="wide-only">
          <Button tone="quiet" onClick={() => setChoosing(true)}>
            {receipts.columns}
          </Button>
        </span>
      </div>
      <VirtualList
        label={nav.receipts}
        rows={rows}
        columns={columns}
        keyOf={({ id }) => id}
        compact={(receipt) => <CompactReceipt receipt={receipt} />}
        list={list}
      />
      <Dialog title={receipts.columns} open={isChoosing} onClose={() => setChoosing(false)}>
        <div className="stack">
          {all.map((name) => (
            <CheckField
              key={name}
              label={receipts.column[name]}
              checked={name === 'created_at' || chosen.includes(name)}
              disabled={name === 'created_at'}
              onValue={() => toggle(name)}
            />
          ))}
        </div>
      </Dialog>
    </>
  );
}
