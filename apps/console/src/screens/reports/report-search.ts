import type { Schema } from '../../api/api.js';

export const BYS = ['day', 'device', 'branch', 'cashier', 'vat'] as const;
export type By = (typeof BYS)[number];

export interface ReportSearch {
  by?: By;
  from?: string;
  to?: string;
  show?: string;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export function reportSearch(given: Record<string, unknown>): ReportSearch {
  const by = BYS.find((one) => one === given['by']);
  const day = (name: 'from' | 'to'): ReportSearch => {
    const value = given[name];
    return typeof value === 'string' && DAY.test(value) ? { [name]: value } : {};
  };
  return {
    ...(by !== undefined && { by }),
    ...day('from'),
    ...day('to'),
    ...(given['show'] === 'different' && { show: 'different' }),
  };
}

const COLUMNS = ['count', 'total', 'vat', 'cash', 'card'] as const;

/** As the gateway's own exports: sums in tiyin, and no text that a spreadsheet would run. */
export function turnoverCsv({ by, data }: Schema<'TurnoverView'>, names: ReadonlyMap<string, string>): Blob {
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
  return new Blob([[head, ...lines].map((line) => line.join(',')).join('\r\n'), '\r\n'], { type: 'text/csv' });
}

function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
