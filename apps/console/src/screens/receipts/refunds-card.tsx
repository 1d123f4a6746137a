import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Receipt } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { More, usePages } from '../../ui/pages.js';
import { Badge, Card, Facts, Money, Time } from '../../ui/shown.js';
import { Empty, Loading, ProblemNote } from '../../ui/states.js';
import { isUnderWay, StatusBadge } from './receipt-status.js';

export function RefundsCard({ receipt }: { receipt: Receipt }): ReactElement {
  const { receipts, fleet } = useWords();
  const { id } = receipt;
  const { list: query, rows: refunds } = usePages(
    ['refunds', id],
    ({ cursor, signal }) =>
      api('get', '/v1/receipts/{id}/refunds', { signal, path: { id }, query: { limit: 20, cursor } }),
    (pages) => (pages.some((page) => page.data.some(({ status }) => isUnderWay(status))) ? 2_000 : false),
  );
  const left = query.data?.pages[0]?.left;
  return (
    <Card title={receipts.refunds.title}>
      {query.isPending && <Loading />}
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      {left && <Facts rows={[[receipts.refunds.left, <Money tiyin={left.total} />]]} />}
      {query.data && refunds.length === 0 && <Empty>{receipts.refunds.none}</Empty>}
      <ul className="plain-list">
        {refunds.map((refund) => (
          <li key={refund.id} className="line-item">
            <Link to="/receipts/$id" params={{ id: refund.id }}>
              <Time at={refund.created_at} />
            </Link>
            <Money tiyin={refund.total} />
            {refund.surplus && <Badge tone="neutral">{fleet.unknown.surplus}</Badge>}
            <StatusBadge status={refund.status} />
          </li>
        ))}
      </ul>
      <More list={query} />
    </Card>
  );
}
