import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Receipt } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { Card, Copyable, Facts, Money, PageHead, Quantity, Time } from '../../ui/shown.js';
import { Loaded, withScope } from '../../ui/states.js';
import { TableHead } from '../../ui/table-head.js';
import { ReceiptActions } from './receipt-actions.js';
import { ReceiptDocument } from './receipt-document.js';
import { FiscalCard } from './fiscal-card.js';
import { MessagesCard } from './messages-card.js';
import { isUnderWay, StatusBadge } from './receipt-status.js';
import { RefundsCard } from './refunds-card.js';
import { Timeline } from './timeline.js';
import { usePlaces } from './use-places.js';

export const ReceiptScreen = withScope('receipts:read', OneReceipt);

function OneReceipt(): ReactElement {
  const { id } = useParams({ from: '/app/receipts/$id' });
  const query = useGet(['receipt', id], '/v1/receipts/{id}', {
    path: { id },
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data.status) ? 2_000 : false),
  });
  return <Loaded query={query}>{(receipt) => <Detail receipt={receipt} />}</Loaded>;
}

function Detail({ receipt }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  return (
    <div className="page">
      <PageHead
        title={
          <>
            {receipts.type[receipt.type]} <Money tiyin={receipt.total} /> <StatusBadge status={receipt.status} />
          </>
        }
      >
        <ReceiptActions receipt={receipt} />
      </PageHead>
      <div className="columns">
        <div className="column-main">
          {receipt.rejection && <Rejection receipt={receipt} />}
          <Lines receipt={receipt} />
          <Sale receipt={receipt} />
          {receipt.type !== 'refund' && receipt.status === 'registered' && <RefundsCard receipt={receipt} />}
          {receipt.status === 'registered' && <MessagesCard receipt={receipt} />}
          <Timeline receiptId={receipt.id} isMoving={isUnderWay(receipt.status)} />
        </div>
        <div className="column-side">
          <FiscalCard receipt={receipt} />
          <ReceiptDocument receipt={receipt} />
        </div>
      </div>
    </div>
  );
}

function Rejection({ receipt: { rejection } }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  return (
    <section className="problem">
      <h2>{receipts.rejection}</h2>
      <p>
        <code className="code">{rejection?.code}</code>{' '}
        {rejection?.rule && <code className="code">{rejection.rule}</code>} {rejection?.detail}
      </p>
    </section>
  );
}

function Lines({ receipt }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  const { line: title } = receipts;
  return (
    <Card title={receipts.lines}>
      <div className="table-scroll" tabIndex={0} role="region" aria-label={receipts.lines}>
        <table className="table table-stacked">
          <TableHead names={[title.no, title.name]} numbers={[title.qty, title.price, title.total, title.vat]} />
          <tbody>
            {receipt.items.map((item) => (
              <Line key={item.line} item={item} />
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={4}>
                {receipts.total}
              </th>
              <td className="end" data-label={title.total}>
                <strong>
                  <Money tiyin={receipt.total} />
                </strong>
              </td>
              <td className="end" data-label={title.vat}>
                <Money tiyin={receipt.vat_total} />
              </td>
            </tr>
          </tfoot>
        </table>
      </div>
    </Card>
  );
}

function Line({ item }: { item: Receipt['items'][number] }): ReactElement {
  const { line: title } = useWords().receipts;
  return (
    <tr>
      <td>{item.line}</td>
      <td>
        {item.name}
        <small className="hint block">
          {title.spic} {item.spic}
          {item.sku !== null && ` · ${item.sku}`}
          {item.labels.length > 0 && ` · ${title.labels}: ${formatCount(item.labels.length)}`}
        </small>
      </td>
      <td className="end" data-label={title.qty}>
        <Quantity of={item.qty} />
      </td>
      <td className="end" data-label={title.price}>
        <Money tiyin={item.price} />
        {item.discount > 0 && (
          <small className="hint block">
            {title.discount} <Money tiyin={item.discount} />
          </small>
        )}
      </td>
      <td className="end" data-label={title.total}>
        <Money tiyin={item.total} />
      </td>
      <td className="end" data-label={title.vat}>
        <Money tiyin={item.vat} />
        <small className="hint block">{item.vat_percent} %</small>
      </td>
    </tr>
  );
}

function Sale({ receipt }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  const { names } = usePlaces();
  const named = (id: string | null): string | null => (id === null ? null : (names.get(id) ?? id));
  const { customer, payment, metadata } = receipt;
  const buyer = [customer?.phone, customer?.email, customer?.tin, customer?.pinfl].filter(Boolean).join(' · ');
  return (
    <Card title={receipts.receipt}>
      <Facts
        rows={[
          [receipts.column.id, <Copyable text={receipt.id} />],
          [receipts.column.external_id, receipt.external_id && <Copyable text={receipt.external_id} />],
          [receipts.column.created_at, <Time at={receipt.created_at} />],
          [receipts.paid, receipts.method[payment.method]],
          [receipts.provider, payment.provider],
          payment.cash > 0 ? [receipts.method.cash, <Money tiyin={payment.cash} />] : null,
          payment.card > 0 ? [receipts.method.card, <Money tiyin={payment.card} />] : null,
          [
            receipts.column.device,
            receipt.device_id && <DeviceLink id={receipt.device_id} name={named(receipt.device_id)} />,
          ],
          [receipts.column.branch, named(receipt.branch_id)],
          [receipts.column.cashier, named(receipt.cashier_id)],
          [receipts.customer, buyer],
          receipt.refund_of
            ? [
                receipts.refunds.of,
                <Link to="/receipts/$id" params={{ id: receipt.refund_of }}>
                  <code className="code">{receipt.refund_of}</code>
                </Link>,
              ]
            : null,
          ...Object.entries(metadata).map(([key, value]) => [`${receipts.metadata}: ${key}`, value] as const),
        ]}
      />
    </Card>
  );
}

function DeviceLink({ id, name }: { id: string; name: string | null }): ReactElement {
  return (
    <Link to="/registers/$id" params={{ id }}>
      {name ?? id}
    </Link>
  );
}
