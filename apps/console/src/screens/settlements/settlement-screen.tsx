import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Card, Facts, Money, PageHead, Time } from '../../ui/shown.js';
import { Empty, Loaded, withScope } from '../../ui/states.js';
import { TableHead } from '../../ui/table-head.js';
import { DifferencesBadge } from './settlements.js';

type Settlement = Schema<'SettlementView'>;

/** The gravest first. */
const KINDS = [
  'missing',
  'extra',
  'receipt',
  'duplicate',
  'amount',
  'refund',
  'commission',
  'day',
  'unreadable',
] as const;

export const SettlementScreen = withScope('payments:read', Found);

function Found(): ReactElement {
  const { settlements: words } = useWords();
  const { id } = useParams({ from: '/app/settlements/$id' });
  const query = useGet(['settlement', id], '/v1/settlements/{id}', { path: { id } });
  return (
    <div className="page">
      <PageHead title={words.one} />
      <Loaded query={query}>
        {(settlement) => (
          <>
            <Summary settlement={settlement} />
            <Days days={settlement.days} />
            <Differences id={id} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Summary({ settlement }: { settlement: Settlement }): ReactElement {
  const { settlements: words } = useWords();
  const { provider, from, to, rows, left_out: leftOut, created_at: at, differences } = settlement;
  return (
    <Card
      title={`${provider} · ${from === to ? from : `${from} – ${to}`}`}
      actions={<DifferencesBadge differences={differences} />}
    >
      <Facts
        rows={[
          [words.rows, formatCount(rows)],
          [words.leftOut, formatCount(leftOut)],
          [words.at, <Time at={at} />],
          ...KINDS.map((kind) => {
            const found = differences[kind];
            return found === undefined ? null : ([words.kinds[kind], formatCount(found)] as const);
          }),
        ]}
      />
    </Card>
  );
}

function Days({ days }: { days: Settlement['days'] }): ReactElement {
  const { settlements: words } = useWords();
  const titles = [words.theirs.payments, words.ours.payments, words.theirs.paid, words.ours.paid];
  const more = [words.theirs.refunded, words.ours.refunded, words.theirs.commission];
  const all = [...titles, ...more];
  return (
    <Card title={words.days}>
      <div className="table-scroll" tabIndex={0} role="region" aria-label={words.days}>
        <table className="table table-stacked">
          <TableHead names={[words.day]} numbers={all} last={words.differences} />
          <tbody>
            {days.map(({ day, theirs, ours, differences }) => (
              <tr key={day}>
                <th scope="row" className="time">
                  {day}
                </th>
                {[theirs.payments, ours.payments].map((count, at) => (
                  <td key={all[at]} className="end" data-label={all[at]}>
                    {formatCount(count)}
                  </td>
                ))}
                {[theirs.paid, ours.paid, theirs.refunded, ours.refunded, theirs.commission].map((tiyin, at) => (
                  <td key={all[at + 2]} className="end" data-label={all[at + 2]}>
                    <Money tiyin={tiyin} />
                  </td>
                ))}
                <td data-label={words.differences}>
                  <DayDifferences differences={differences} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function DayDifferences({ differences }: Pick<Settlement['days'][number], 'differences'>): ReactElement {
  const { settlements: words } = useWords();
  if (differences === null) return <>{words.notCounted}</>;
  const found = KINDS.flatMap((kind) => {
    const number = differences[kind];
    return number === undefined ? [] : [{ kind, number }];
  });
  if (found.length === 0) return <>{words.agree}</>;
  return (
    <>
      {found.map(({ kind, number }) => (
        <span key={kind} className="block">
          {words.kinds[kind]}: {formatCount(number)}
        </span>
      ))}
    </>
  );
}

function Differences({ id }: { id: string }): ReactElement {
  const { settlements: words } = useWords();
  const { list, rows } = usePages(['settlement-differences', id], ({ cursor, signal }) =>
    api('get', '/v1/settlements/{id}/differences', {
      signal,
      path: { id },
      query: { limit: 100, cursor },
    }),
  );
  return (
    <Card title={words.differences}>
      <Pages list={list} empty={<Empty>{words.agree}</Empty>} isCounted>
        <ul className="plain-list">
          {rows.map((one) => (
            <DifferenceLine key={one.number} difference={one} />
          ))}
        </ul>
      </Pages>
    </Card>
  );
}

function DifferenceLine({ difference: one }: { difference: Schema<'DifferenceView'> }): ReactElement {
  const { settlements: words } = useWords();
  const sums = [
    one.theirs === null ? null : { name: words.says, tiyin: one.theirs },
    one.ours === null ? null : { name: words.weHave, tiyin: one.ours },
  ].filter((sum) => sum !== null);
  return (
    <li className="line-item">
      <span>
        <Badge tone="warn">{words.kinds[one.kind]}</Badge> <span className="time">{one.day}</span>
        {one.row !== null && ` · ${words.row} ${formatCount(one.row)}`}
        {one.provider_ref !== null && (
          <>
            {' · '}
            <code className="code wrap">{one.provider_ref}</code>
          </>
        )}
        <small className="hint block wrap">{one.detail}</small>
      </span>
      <span>
        {sums.map(({ name, tiyin }) => (
          <span key={name} className="block">
            {name}: <Money tiyin={tiyin} />
          </span>
        ))}
        {one.payment_id !== null && (
          <Link to="/payments/$id" params={{ id: one.payment_id }}>
            {words.payment}
          </Link>
        )}{' '}
        {one.receipt_id !== null && (
          <Link to="/receipts/$id" params={{ id: one.receipt_id }}>
            {words.receipt}
          </Link>
        )}
      </span>
    </li>
  );
}
