import type { Schema } from '../../api/api.js';
import type { ReceiptFilters } from '../receipts/receipt-filters.js';

type Shift = Pick<Schema<'ReconciliationView'>, 'device_id' | 'opened_at' | 'closed_at'>;

/** Its times are known to the second, and the list ends before the time that is named: the last second is in it, too. */
export function receiptsOfShift({ device_id, opened_at, closed_at }: Shift): ReceiptFilters {
  const end = new Date(new Date(closed_at).getTime() + 1_000).toISOString();
  return { device_id, registered_from: opened_at, registered_to: end };
}
