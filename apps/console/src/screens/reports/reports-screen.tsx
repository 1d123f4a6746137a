import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { formatCount, formatTiyin } from '../../format/money.js';
import { formatDay, tashkentDay } from '../../format/time.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { Bars } from '../../ui/bars.js';
import { Button } from '../../ui/button.js';
import { draftFields } from '../../ui/draft-fields.js';
import { CheckField, SelectField, TextField } from '../../ui/field.js';
import { NumberTable } from '../../ui/number-table.js';
import { saveBlob } from '../../ui/save-blob.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Card, Money, PageHead, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty, Loaded, NeedsScope } from '../../ui/states.js';
import { usePlaces } from '../receipts/use-places.js';
import { ShiftDifference } from './shift-difference.js';
import { BYS, type By, type ReportSearch } from './report-search.js';
import { turnoverCsv } from './turnover-csv.js';
import { turnoverSums } from './turnover-sums.js';

export function ReportsScreen(): ReactElement {
  const { nav } = useWords();
  return (
    <NeedsScope scope="receipts:read">
      <div className="page">
        <PageHead title={nav.reports} />
        <Turnover />
        <Comparison />
      </div>
    </NeedsScope>
  );
}

const MONTH_MS = 30 * 86_400_000;

/** The period of the address, else the last thirty days. */
function usePeriod(): { search: ReportSearch; from: string; to: string; change: (part: ReportSearch) => void } {
  const search = useSearch({ from: '/app/reports' });
  const navigate = useNavigate();
  const now = Date.now();
  return {
    search,
    from: search.from ?? tashkentDay(new Date(now - MONTH_MS)),
    to: search.to ?? tashkentDay(new Date(now)),
    change: (part) => void navigate({ to: '/reports', search: { ...search, ...part } }),
  };
}

function Turnover(): ReactElement {
  const { reports } = useWords();
  const { search, from, to, change } = usePeriod();
  const by = search.by ?? 'day';
  const { names } = usePlaces();
  const query = useGet(['turnover', by, from, to], '/v1/reports/turnover', { query: { by, from, to } });
  const field = draftFields({ from, to }, change, query.error);
  return (
    <Card
      title={reports.turnover}
      actions={
        query.data && (
          <Button
            onClick={() =>
              saveBlob(
                new Blob([turnoverCsv(query.data, names)], { type: 'text/csv' }),
                `turnover-${by}-${from}-${to}.csv`,
              )
            }
          >
            {reports.file}
          </Button>
        )
      }
    >
      <div className="form-row">
        <SelectField
          label={reports.by}
          value={by}
          options={BYS.map((value) => ({ value, label: reports.bys[value] }))}
          onValue={(value) => change({ by: value as By })}
        />
        <TextField label={reports.from} type="date" {...field('from')} />
        <TextField label={reports.to} type="date" {...field('to')} />
      </div>
      <Loaded query={query}>{(turnover) => <TurnoverTable turnover={turnover} />}</Loaded>
    </Card>
  );
}

function TurnoverTable({ turnover: { by, data } }: { turnover: Schema<'TurnoverView'> }): ReactElement {
  const { reports } = useWords();
  const { language } = useLanguage();
  const { names } = usePlaces();
  const titles = [
    reports.bys[by],
    reports.count,
    reports.sales,
    reports.cash,
    reports.card,
    reports.refunds,
    reports.net,
    reports.netVat,
  ];
  const named = (key: string): string => {
    if (by === 'day') return formatDay(`${key}T12:00:00+05:00`);
    return names.get(key) ?? (by === 'vat' ? `${key} %` : key);
  };
  if (data.length === 0) return <Empty />;
  const bars = data.map((row) => ({
    key: row.key,
    value: Math.max(0, row.net_total),
    text: `${named(row.key)}: ${formatTiyin(row.net_total, language)}`,
  }));
  return (
    <>
      <Bars label={reports.net} bars={bars} />
      <TurnoverRows rows={data} titles={titles} named={named} />
    </>
  );
}

interface RowsProps {
  rows: Schema<'TurnoverRow'>[];
  titles: readonly string[];
  named: (key: string) => string;
}

function TurnoverRows({ rows, titles, named }: RowsProps): ReactElement {
  const { reports } = useWords();
  const cells = (row: Schema<'TurnoverRow'>): ReactElement[] => [
    <>{formatCount(row.sales.count)}</>,
    <Money tiyin={row.sales.total} />,
    row.sales.cash === null ? <>—</> : <Money tiyin={row.sales.cash} />,
    row.sales.card === null ? <>—</> : <Money tiyin={row.sales.card} />,
    <Money tiyin={row.refunds.total} />,
    <Money tiyin={row.net_total} />,
    <Money tiyin={row.net_vat} />,
  ];
  const { count, sales, cash, card, refunds, net, netVat } = turnoverSums(rows);
  const sums = [
    count === null ? <>—</> : formatCount(count),
    <Money tiyin={sales} />,
    cash === null ? <>—</> : <Money tiyin={cash} />,
    card === null ? <>—</> : <Money tiyin={card} />,
    <Money tiyin={refunds} />,
    <strong>
      <Money tiyin={net} />
    </strong>,
    <Money tiyin={netVat} />,
  ];
  return (
    <NumberTable
      label={reports.turnover}
      shape="stacked"
      titles={titles}
      rows={rows.map((row) => ({ key: row.key, head: named(row.key), cells: cells(row) }))}
      foot={{ head: reports.sum, cells: sums }}
    />
  );
}

const TONES: Record<Schema<'ReconciliationView'>['result'], BadgeTone> = {
  equal: 'good',
  foreign_sales: 'neutral',
  different: 'bad',
  no_z_report: 'warn',
};

function Comparison(): ReactElement {
  const { nav, reports } = useWords();
  const { names } = usePlaces();
  const { search, from, to, change } = usePeriod();
  const show = search.show === 'different' ? 'different' : 'all';
  const { list, rows } = usePages(['reconciliation', from, to, show], ({ cursor, signal }) =>
    api('get', '/v1/reports/reconciliation', { signal, query: { from, to, show, limit: 50, cursor } }),
  );
  return (
    <Card title={reports.z}>
      <CheckField
        label={reports.onlyDifferent}
        checked={show === 'different'}
        onValue={(isOnly) => change({ show: isOnly ? 'different' : 'all' })}
      />
      <Pages list={list} empty={<Empty>{show === 'different' ? reports.noneDifferent : reports.none}</Empty>}>
        <ul className="plain-list">
          {rows.map((row) => (
            <li key={row.id} className="line-item">
              <span>
                <Link to="/registers/$id" params={{ id: row.device_id }}>
                  {names.get(row.device_id) ?? row.terminal_id}
                </Link>{' '}
                · {reports.shift} {row.number} · <Time at={row.closed_at} />
              </span>
              {row.unknown_receipts > 0 && (
                <Link to="/receipts" search={{ device_id: row.device_id, status: 'unknown' }}>
                  <Badge tone="warn">
                    {nav.unknown}: {formatCount(row.unknown_receipts)}
                  </Badge>
                </Link>
              )}
              <Badge tone={TONES[row.result]}>{reports.results[row.result]}</Badge>
              {row.result !== 'equal' && <ShiftDifference row={row} />}
            </li>
          ))}
        </ul>
      </Pages>
    </Card>
  );
}
