import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { Badge, Card, Copyable, Facts, Money, PageHead, Time } from '../../ui/shown.js';
import { Loaded, withScope } from '../../ui/states.js';
import { StatusBadge } from '../receipts/receipt-status.js';
import { Timeline } from '../receipts/timeline.js';
import { ExtraCharges } from './extra-charges.js';
import { FurtherReceipts } from './further-receipts.js';
import { PaymentActions } from './payment-actions.js';
import { PaymentStatus } from './payment-status.js';

export const PaymentScreen = withScope('payments:read', OnePayment);

function OnePayment(): ReactElement {
  const { id } = useParams({ from: '/app/payments/$id' });
  const query = useGet(['payment', id], '/v1/payments/{id}', { path: { id }, refetchInterval: 5_000 });
  return <Loaded query={query}>{(payment) => <Detail payment={payment} />}</Loaded>;
}

function Detail({ payment }: { payment: Schema<'PaymentView'> }): ReactElement {
  const { payments: words } = useWords();
  const { receipt } = payment;
  return (
    <div className="page">
      <PageHead
        title={
          <>
            {words.payment} <Money tiyin={payment.amount} /> <PaymentStatus status={payment.status} />
          </>
        }
      >
        <PaymentActions payment={payment} />
      </PageHead>
      <div className="columns">
        <div className="column-main">
          <Timeline receiptId={receipt.id} isMoving={false} />
        </div>
        <div className="column-side">
          <Card title={words.payment}>
            <Facts
              rows={[
                ['ID', <Copyable text={payment.id} />],
                [words.provider, payment.provider],
                [
                  words.receipt,
                  <Link to="/receipts/$id" params={{ id: receipt.id }}>
                    <Time at={receipt.created_at} /> <StatusBadge status={receipt.status} />
                  </Link>,
                ],
                [words.created, <Time at={payment.created_at} />],
                [words.since, <Time at={payment.status_since} />],
                [words.refunded, payment.refunded > 0 ? <Money tiyin={payment.refunded} /> : null],
                [words.reason, payment.reason],
                payment.status === 'pending' ? [words.expires, <Time at={payment.expires_at} />] : null,
                [words.holdUntil, payment.hold_until && <Time at={payment.hold_until} />],
              ]}
            />
          </Card>
          <FurtherReceipts receipts={payment.further_receipts} />
          {payment.refunds.length > 0 && (
            <Card title={words.moneyBack}>
              <ul className="plain-list">
                {payment.refunds.map(({ receipt_id: refund, amount, status }, index) => (
                  <li key={refund ?? index} className="line-item">
                    {refund === null ? (
                      <Money tiyin={amount} />
                    ) : (
                      <Link to="/receipts/$id" params={{ id: refund }}>
                        <Money tiyin={amount} />
                      </Link>
                    )}
                    <Badge tone={status === 'done' ? 'good' : status === 'dropped' ? 'neutral' : 'busy'}>
                      {words.back[status]}
                    </Badge>
                  </li>
                ))}
              </ul>
            </Card>
          )}
          <ExtraCharges payment={payment} />
        </div>
      </div>
    </div>
  );
}
