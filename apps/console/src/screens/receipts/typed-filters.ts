import { tiyinToInput } from '../../format/money.js';
import { inputToInstant, instantToInput } from '../../format/time.js';
import { FILTERS, sumFilter, type FilterName, type ReceiptFilters } from './receipt-filters.js';

const SUMS: readonly FilterName[] = ['total_min', 'total_max'];
export const TIMES: readonly FilterName[] = ['created_from', 'created_to', 'registered_from', 'registered_to'];

/** As a person types them. */
export function toTyped(filters: ReceiptFilters, language: string): Record<FilterName, string> {
  const shown = (name: FilterName): string => {
    const value = filters[name] ?? '';
    if (SUMS.includes(name)) return /^\d{1,15}$/.test(value) ? tiyinToInput(Number(value), language) : value;
    return TIMES.includes(name) ? instantToInput(filters[name]) : value;
  };
  return Object.fromEntries(FILTERS.map((name) => [name, shown(name)])) as Record<FilterName, string>;
}

/** @param before the filters that were shown: a field has minutes alone, and the times of a shift have seconds */
export function toFilters(typed: Record<FilterName, string>, before: ReceiptFilters): ReceiptFilters {
  const asked = (name: FilterName): string | undefined => {
    if (SUMS.includes(name)) return sumFilter(typed[name]);
    if (TIMES.includes(name)) {
      const isUntouched = typed[name] !== '' && typed[name] === instantToInput(before[name]);
      return isUntouched ? before[name] : inputToInstant(typed[name]);
    }
    const text = typed[name].trim();
    if (text === '') return undefined;
    return name === 'terminal_id' ? text.toUpperCase() : text;
  };
  const filters: ReceiptFilters = {};
  for (const name of FILTERS) {
    const value = asked(name);
    if (value !== undefined) filters[name] = value;
  }
  return filters;
}
