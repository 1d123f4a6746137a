import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Card, Money } from '../../ui/shown.js';
import { StatusBadge } from '../receipts/receipt-status.js';

/** The other receipts of a payment for several sellers. */
export function FurtherReceipts({ receipts }: { receipts: Schema<'ReceiptView'>[] }): ReactElement | null {
  const { payments: words } = useWords();
  if (receipts.length === 0) return null;
  return (
    <Card title={words.further}>
      <ul className="plain-list">
        {receipts.map(({ id, total, status }) => (
          <li key={id} className="line-item">
            <Link to="/receipts/$id" params={{ id }}>
              <Money tiyin={total} />
            </Link>
            <StatusBadge status={status} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
