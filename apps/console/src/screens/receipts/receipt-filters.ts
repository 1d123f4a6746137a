import type { paths } from '#sdk';
import { textsIn } from '../../app/search-text.js';
import { parseSom } from '../../format/money.js';

type ListQuery = NonNullable<paths['/v1/receipts']['get']['parameters']['query']>;

/** Every filter of the list, by the names of the API: the address of the screen is the query. */
export const FILTERS = [
  'status',
  'type',
  'external_id',
  'terminal_id',
  'receipt_seq',
  'device_id',
  'branch_id',
  'cashier_id',
  'total_min',
  'total_max',
  'created_from',
  'created_to',
  'registered_from',
  'registered_to',
] as const satisfies readonly Exclude<keyof ListQuery, 'limit' | 'cursor'>[];

export type FilterName = (typeof FILTERS)[number];
export type ReceiptFilters = { [Name in FilterName]?: string };

/** What an address asks for; names that are no filters are left out, values are judged by the gateway. */
export const receiptFilters = textsIn(...FILTERS);

/** A sum that a person typed, as the filter takes it; what is no sum stays as it is and is refused with its field. */
export function sumFilter(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const tiyin = parseSom(text);
  return tiyin === null ? text : String(tiyin);
}
