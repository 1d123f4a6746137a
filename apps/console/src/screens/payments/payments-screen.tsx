import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { Badge, Money, PageHead, Time } from '../../ui/shown.js';
import { Empty, Loading, NeedsScope, ProblemNote } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { VirtualList, type Column } from '../../ui/virtual-list.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { PaymentRouting } from '../routing/payment-routing.js';
import { Settlements } from '../settlements/settlements.js';
import { adviceFor } from './advice.js';
import { PaymentStatus } from './payment-status.js';

type Payment = Schema<'PaymentSummary'>;

export function PaymentsScreen(): ReactElement {
  return (
    <NeedsScope scope="payments:read">
      <Payments />
    </NeedsScope>
  );
}

function Payments(): ReactElement {
  const { nav, payments, providerAccounts, routing, settlements } = useWords();
  const { view = 'list' } = useSearch({ from: '/app/payments' });
  const { can } = useSession();
  const tabs = [
    { view: 'list', title: payments.list },
    { view: 'differences', title: payments.differences },
    { view: 'settlements', title: settlements.title },
    ...(can('clients:read')
      ? [
          { view: 'accounts', title: providerAccounts.title },
          { view: 'routing', title: routing.title },
        ]
      : []),
  ];
  return (
    <div className="page page-list">
      <PageHead title={nav.payments} />
      <Tabs label={nav.payments} to="/payments" tabs={tabs} shown={view} />
      <Shown view={view} />
    </div>
  );
}

function Shown({ view }: { view: string }): ReactElement {
  switch (view) {
    case 'differences':
      return <Differences />;
    case 'settlements':
      return <Settlements />;
    case 'accounts':
      return <ProviderAccounts />;
    case 'routing':
      return <PaymentRouting />;
    default:
      return <List />;
  }
}

function columnsOf({ payments }: Words): Column<Payment>[] {
  return [
    {
      key: 'created',
      title: payments.created,
      width: '11rem',
      cell: (payment) => <PaymentLink id={payment.id} at={payment.created_at} />,
    },
    { key: 'status', title: payments.status, width: '11rem', cell: ({ status }) => <PaymentStatus status={status} /> },
    { key: 'provider', title: payments.provider, width: '8rem', cell: ({ provider }) => provider },
    {
      ...{ key: 'amount', title: payments.amount, width: '11.5rem', align: 'end' },
      cell: ({ amount }) => <Money tiyin={amount} />,
    },
    {
      key: 'refunded',
      title: payments.refunded,
      width: '9rem',
      align: 'end',
      cell: ({ refunded }) => (refunded > 0 ? <Money tiyin={refunded} /> : ''),
    },
    { key: 'reason', title: payments.reason, width: 'minmax(10rem, 1fr)', cell: ({ reason }) => reason },
  ];
}

function PaymentLink({ id, at }: { id: string; at: string }): ReactElement {
  return (
    <Link to="/payments/$id" params={{ id }} className="row-link">
      <Time at={at} />
    </Link>
  );
}

function List(): ReactElement {
  const words = useWords();
  const list = useInfiniteQuery({
    queryKey: ['payments'],
    queryFn: ({ pageParam, signal }) =>
      api('get', '/v1/payments', { signal, query: { limit: 100, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const rows = useMemo(() => list.data?.pages.flatMap(({ data }) => data) ?? [], [list.data]);
  if (list.isPending) return <Loading />;
  if (!list.data) return <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />;
  if (rows.length === 0) return <Empty />;
  return (
    <VirtualList
      label={words.nav.payments}
      rows={rows}
      columns={columnsOf(words)}
      keyOf={({ id }) => id}
      compact={(payment) => (
        <div className="compact">
          <div className="compact-line">
            <strong>
              <Money tiyin={payment.amount} />
            </strong>
            <PaymentStatus status={payment.status} />
          </div>
          <div className="compact-line hint">
            <PaymentLink id={payment.id} at={payment.created_at} />
            <span>{payment.provider}</span>
          </div>
        </div>
      )}
      list={list}
    />
  );
}

/** Where money and receipts do not agree, with what happens next. */
function Differences(): ReactElement {
  const { payments, fleet, state } = useWords();
  const list = useInfiniteQuery({
    queryKey: ['payments-differences'],
    queryFn: ({ pageParam, signal }) =>
      api('get', '/v1/payments/reconciliation', { signal, query: { limit: 50, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: 30_000,
  });
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? [];
  if (list.isPending) return <Loading />;
  if (list.error) return <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />;
  if (rows.length === 0) return <Empty>{payments.noDifferences}</Empty>;
  return (
    <>
      <ul className="tiles">
        {rows.map((one) => (
          <li key={one.id} className="tile">
            <div className="tile-head">
              <Link to="/payments/$id" params={{ id: one.id }} className="tile-link">
                <Money tiyin={one.amount} />
              </Link>
              <PaymentStatus status={one.status} />
            </div>
            <p>
              <Badge tone="warn">{payments.kinds[one.kind]}</Badge>
            </p>
            <p className="hint">
              {payments.next}: <strong>{payments.actors[one.next_actor]}</strong> {payments.advice[adviceFor(one)]}{' '}
              {one.next_at !== null && <Time at={one.next_at} />}
            </p>
            <p className="hint">
              {payments.age}: {fleet.countdown.hours(Math.floor(one.age_seconds / 3_600))}
            </p>
            {one.reason !== null && <p className="hint">{one.reason}</p>}
          </li>
        ))}
      </ul>
      {list.hasNextPage && (
        <Button onClick={() => void list.fetchNextPage()} busy={list.isFetchingNextPage}>
          {state.more} ({formatCount(rows.length)})
        </Button>
      )}
    </>
  );
}
