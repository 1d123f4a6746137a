import type { Schema } from '../../api/api.js';

const COLUMNS = ['count', 'total', 'vat', 'cash', 'card'] as const;

/** Marks the file as UTF-8: without it Excel reads names of places in the system's own code page. */
const BYTE_ORDER_MARK = '\uFEFF';

/** As the gateway's own exports: sums in tiyin, and no text that a spreadsheet would run. */
export function turnoverCsv({ by, data }: Schema<'TurnoverView'>, names: ReadonlyMap<string, string>): string {
  const isOfPlaces = by === 'device' || by === 'branch' || by === 'cashier';
  const head = [
    by,
    ...['sales', 'refunds'].flatMap((kind) => COLUMNS.map((name) => `${kind}_${name}`)),
    'net_total',
    'net_vat',
    // The last: programs that read the others by their place go on.
    ...(isOfPlaces ? ['name'] : []),
  ];
  const lines = data.map((row) => [
    cell(row.key),
    ...[row.sales, row.refunds].flatMap((sums) => COLUMNS.map((name) => String(sums[name] ?? ''))),
    String(row.net_total),
    String(row.net_vat),
    ...(isOfPlaces ? [cell(names.get(row.key) ?? '')] : []),
  ]);
  return BYTE_ORDER_MARK + [head, ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
