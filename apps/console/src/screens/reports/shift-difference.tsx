import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { NumberTable } from '../../ui/number-table.js';
import { Money } from '../../ui/shown.js';
import { receiptsOfShift } from './receipts-of-shift.js';

const SUMS = ['sale_cash', 'sale_card', 'sale_vat', 'refund_cash', 'refund_card', 'refund_vat'] as const;
const COUNTS = ['sale_count', 'refund_count'] as const;
const LINES = [...SUMS, ...COUNTS];
type Line = (typeof LINES)[number];

/** What a shift's Z-report says, what the gateway has, and by how much they differ; whole tiyin and pieces. */
export function ShiftDifference({ row }: { row: Schema<'ReconciliationView'> }): ReactElement {
  const { reports, fleet } = useWords();
  const differing = LINES.filter((line) => numberIn(row.difference, line) !== null);
  const shown = (of: unknown, line: Line): ReactElement => {
    const value = numberIn(of, line);
    if (value === null) return <>—</>;
    return COUNTS.some((count) => count === line) ? <>{formatCount(value)}</> : <Money tiyin={value} />;
  };
  return (
    <details>
      <summary>{fleet.unknown.difference}</summary>
      {differing.length > 0 && (
        <NumberTable
          label={fleet.unknown.difference}
          shape="small"
          titles={[reports.ofShift, reports.zReport, reports.gateway, fleet.unknown.difference]}
          rows={differing.map((line) => ({
            key: line,
            head: reports.shiftLines[line],
            cells: [
              shown(row.z_report, line),
              shown(row.gateway, line),
              <strong>{shown(row.difference, line)}</strong>,
            ],
          }))}
        />
      )}
      <Link to="/receipts" search={receiptsOfShift(row)}>
        {reports.receiptsOfShift}
      </Link>
    </details>
  );
}

function numberIn(of: unknown, line: Line): number | null {
  if (typeof of !== 'object' || of === null) return null;
  const value = (of as Record<string, unknown>)[line];
  return typeof value === 'number' ? value : null;
}
