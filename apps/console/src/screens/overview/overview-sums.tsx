import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import type { Schema } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { startOfDay } from '../../format/time.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Card, Facts, Money } from '../../ui/shown.js';
import type { ReceiptFilters } from '../receipts/receipt-filters.js';

type Sums = Schema<'OverviewSums'>;

/** @param title of which time, where it is of one */
function NumberTile({ title, count, children }: { title?: string; count: number; children: ReactNode }): ReactElement {
  return (
    <li className={count > 0 ? 'number' : 'number number-none'}>
      <strong className="number-value">{formatCount(count)}</strong>
      <span>{children}</span>
      {title !== undefined && <span className="visually-hidden">{title}</span>}
    </li>
  );
}

/** What has not come to its end, and what needs a person, however old it is: as many as the list of unknown receipts has. */
export function UnderWay({ now }: { now: Schema<'Overview'> }): ReactElement {
  const { waiting_for_person: waiting, last_30_days: sums } = now;
  const { by_status: by } = sums;
  const { overview } = useWords();
  const { can } = useSession();
  const listOf = (status: 'accepted' | 'sending' | 'rejected' | 'awaiting_payment'): ReactElement => (
    <NumberTile title={overview.days30} count={by[status].count}>
      <Link to="/receipts" search={{ status, created_from: startOfDay(29) }} className="number-link">
        {overview.underWay[status]}
      </Link>
    </NumberTile>
  );
  return (
    <ul className="numbers">
      {can('operator:read') ? (
        <NumberTile count={waiting}>
          <Link to="/unknown" className="number-link">
            {overview.unknown}
          </Link>
        </NumberTile>
      ) : (
        <NumberTile title={overview.days30} count={by.unknown.count}>
          <Link to="/receipts" search={{ status: 'unknown' }} className="number-link">
            {overview.unknown}
          </Link>
        </NumberTile>
      )}
      {listOf('accepted')}
      {listOf('sending')}
      {listOf('awaiting_payment')}
      {listOf('rejected')}
    </ul>
  );
}

/** Sales and refunds that were accepted in a time and are registered. */
export function PeriodCard({ title, sums, days }: { title: string; sums: Sums; days: number }): ReactElement {
  const { overview: words } = useWords();
  const from = startOfDay(days - 1);
  const listed = (filters: ReceiptFilters, { count, total }: Sums['sales']): ReactElement => (
    <>
      <Money tiyin={total} />{' '}
      <Link to="/receipts" search={{ ...filters, status: 'registered', created_from: from }}>
        {words.pieces(count)}
      </Link>
    </>
  );
  return (
    <Card title={title}>
      <Facts
        rows={[
          [words.sales, listed({ type: 'sale' }, sums.sales)],
          [words.refunds, listed({ type: 'refund' }, sums.refunds)],
          [
            words.net,
            <strong className="sum">
              <Money tiyin={sums.net} />
            </strong>,
          ],
          [words.vat, <Money tiyin={sums.net_vat} />],
        ]}
      />
    </Card>
  );
}
