import { Link, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { More, usePages } from '../../ui/pages.js';
import { Badge, Money, PageHead, Time } from '../../ui/shown.js';
import { Empty, Loading, ProblemNote, withScope } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { VirtualList, type Column } from '../../ui/virtual-list.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { PaymentRouting } from '../routing/payment-routing.js';
import { Settlements } from '../settlements/settlements.js';
import { adviceFor } from './advice.js';
import { PaymentStatus } from './payment-status.js';

type Payment = Schema<'PaymentSummary'>;

export const PaymentsScreen = withScope('payments:read', Payments);

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
  const { list, rows } = usePages(['payments'], ({ cursor, signal }) =>
    api('get', '/v1/payments', { signal, query: { limit: 100, cursor } }),
  );
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
  const { payments, fleet } = useWords();
  const { list, rows } = usePages(
    ['payments-differences'],
    ({ cursor, signal }) => api('get', '/v1/payments/reconciliation', { signal, query: { limit: 50, cursor } }),
    30_000,
  );
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
      <More list={list} isCounted />
    </>
  );
}
