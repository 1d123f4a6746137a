import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import type { Receipt } from '../../api/api.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { Money, Time } from '../../ui/shown.js';
import type { Column } from '../../ui/virtual-list.js';
import { StatusBadge } from './receipt-status.js';

export type ColumnName = keyof Words['receipts']['column'];

/** What is shown until a person chooses. */
const FIRST: readonly ColumnName[] = [
  'created_at',
  'status',
  'type',
  'total',
  'external_id',
  'seq',
  'method',
  'device',
];
const KEY = 'console-receipt-columns';

function ReceiptLink({ receipt, text }: { receipt: Receipt; text: ReactElement | string }): ReactElement {
  return (
    <Link to="/receipts/$id" params={{ id: receipt.id }} className="row-link">
      {text}
    </Link>
  );
}

/** All columns by name; the first one that is shown leads to the receipt. */
function allColumns(words: Words, names: ReadonlyMap<string, string>): Record<ColumnName, Column<Receipt>> {
  const { column, type, method } = words.receipts;
  const named = (id: string | null): string => (id === null ? '' : (names.get(id) ?? id));
  const text = (
    key: ColumnName,
    width: string,
    cell: (receipt: Receipt) => string | ReactElement | null,
  ): Column<Receipt> => ({ key, title: column[key], width, cell });
  return {
    created_at: text('created_at', '11rem', (receipt) => (
      <ReceiptLink receipt={receipt} text={<Time at={receipt.created_at} />} />
    )),
    status: text('status', '10rem', ({ status }) => <StatusBadge status={status} />),
    type: text('type', '6.5rem', (receipt) => type[receipt.type]),
    total: { ...text('total', '11.5rem', ({ total }) => <Money tiyin={total} />), align: 'end' },
    vat: { ...text('vat', '10.5rem', ({ vat_total }) => <Money tiyin={vat_total} />), align: 'end' },
    external_id: text('external_id', 'minmax(8rem, 1fr)', ({ external_id }) => external_id),
    id: text('id', 'minmax(18rem, 1fr)', ({ id }) => <code className="code">{id}</code>),
    device: text('device', 'minmax(9rem, 1fr)', ({ device_id }) => named(device_id)),
    branch: text('branch', 'minmax(9rem, 1fr)', ({ branch_id }) => named(branch_id)),
    cashier: text('cashier', 'minmax(9rem, 1fr)', ({ cashier_id }) => named(cashier_id)),
    method: text('method', '7rem', ({ payment }) => method[payment.method]),
    seq: text('seq', '8rem', ({ fiscal }) => (fiscal ? String(fiscal.receipt_seq) : '')),
  };
}

interface ChosenColumns {
  chosen: readonly ColumnName[];
  toggle: (name: ColumnName) => void;
}

export function useChosenColumns(): ChosenColumns {
  const [chosen, setChosen] = useState<readonly ColumnName[]>(readChosen);
  const toggle = (name: ColumnName): void => {
    const next = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
    localStorage.setItem(KEY, next.join(','));
    setChosen(next);
  };
  return { chosen, toggle };
}

function readChosen(): readonly ColumnName[] {
  const kept = localStorage.getItem(KEY)?.split(',') as ColumnName[] | undefined;
  return kept && kept.length > 0 ? kept : FIRST;
}

/** In the order of the table above; the time stays, because it leads to the receipt. */
export function useReceiptColumns(
  chosen: readonly ColumnName[],
  names: ReadonlyMap<string, string>,
): { columns: Column<Receipt>[]; all: readonly ColumnName[] } {
  const words = useWords();
  const table = allColumns(words, names);
  const all = Object.keys(table) as ColumnName[];
  const columns = all.filter((name) => name === 'created_at' || chosen.includes(name)).map((name) => table[name]);
  return { columns, all };
}

/** The two lines of a receipt on a narrow screen. */
export function CompactReceipt({ receipt }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  return (
    <div className="compact">
      <div className="compact-line">
        <strong>
          <Money tiyin={receipt.total} />
        </strong>
        <StatusBadge status={receipt.status} />
      </div>
      <div className="compact-line hint">
        <ReceiptLink receipt={receipt} text={<Time at={receipt.created_at} />} />
        <span>
          {receipts.type[receipt.type]} {receipt.external_id}
        </span>
      </div>
    </div>
  );
}
